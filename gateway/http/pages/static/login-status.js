// The frame that tells pages of clients whether the session of the browser has changed.
// A message is "<client id> <session state>"; the answer is "unchanged", "changed" or "error".
// keycloak-js leaves the state empty where no user is signed in to the page: the question is then
// whether the browser has a session at all.
// The gateway is asked once for each client, page and session, and again when the cookie changes.
// Plain ES5. OpenID Connect Session Management 3.2
(function () {
  "use strict";
  var NAME = "KEYCLOAK_SESSION=";
  var known = {};

  function sessionCookie() {
    var parts = document.cookie.split(";");
    var i, part;
    for (i = 0; i < parts.length; i += 1) {
      part = parts[i].replace(/^\s+/, "");
      if (part.indexOf(NAME) === 0) {
        return part.substring(NAME.length);
      }
    }
    return "";
  }

  function reply(event, text) {
    event.source.postMessage(text, event.origin);
  }

  function ask(event, key, clientId, sessionState, cookie) {
    var request = new XMLHttpRequest();
    var query = "?client_id=" + encodeURIComponent(clientId) +
      "&origin=" + encodeURIComponent(event.origin);
    if (sessionState !== "") {
      query += "&session_state=" + encodeURIComponent(sessionState);
    }
    request.open("GET", window.location.pathname + "/init" + query, true);
    request.onreadystatechange = function () {
      var text = "error";
      if (request.readyState !== 4) {
        return;
      }
      if (request.status === 204 || request.status === 1223) {
        text = sessionState === "" && cookie !== "" ? "changed" : "unchanged";
      } else if (request.status === 409) {
        text = "changed";
      }
      if (text !== "error") {
        known[key] = { cookie: cookie, text: text };
      }
      reply(event, text);
    };
    request.send();
  }

  function receive(event) {
    var data = event.data;
    var space, key, cookie;
    if (typeof data !== "string" || !event.source) {
      return;
    }
    space = data.lastIndexOf(" ");
    if (space < 1) {
      reply(event, "error");
      return;
    }
    key = event.origin + " " + data;
    cookie = sessionCookie();
    if (Object.prototype.hasOwnProperty.call(known, key) && known[key].cookie === cookie) {
      reply(event, known[key].text);
    } else {
      ask(event, key, data.substring(0, space), data.substring(space + 1), cookie);
    }
  }

  window.addEventListener("message", receive, false);
})();
