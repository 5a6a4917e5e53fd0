// Tells the page around the frame whether the browser keeps cookies of this origin in a frame.
// The first page sets cookies, the second one looks for them. Plain ES5.
(function () {
  "use strict";
  var FIRST = /\/step1\.html$/;
  var NAMES = ["KEYCLOAK_3P_COOKIE_SAMESITE", "KEYCLOAK_3P_COOKIE"];

  function tell(supported) {
    window.parent.postMessage(supported ? "supported" : "unsupported", "*");
  }

  function set(seconds) {
    var rest = "=supported; Max-Age=" + seconds;
    document.cookie = NAMES[0] + rest + "; SameSite=None; Secure";
    document.cookie = NAMES[1] + rest;
  }

  function go() {
    set(60);
    window.location.replace("step2.html");
  }

  function refuse() {
    tell(false);
  }

  function begin() {
    if (!document.hasStorageAccess) {
      go();
      return;
    }
    document.hasStorageAccess().then(function (granted) {
      if (granted) {
        go();
      } else {
        document.requestStorageAccess().then(go, refuse);
      }
    }, refuse);
  }

  function look() {
    var supported = document.cookie.indexOf(NAMES[0] + "=") !== -1 ||
      document.cookie.indexOf(NAMES[1] + "=") !== -1;
    set(0);
    tell(supported);
  }

  if (FIRST.test(window.location.pathname)) {
    begin();
  } else {
    look();
  }
})();
