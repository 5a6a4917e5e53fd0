// Registers and presents security keys and passkeys: the forms `register` and `webauth`, whose data
// attributes are the options. Without it the page says that it needs JavaScript. Plain ES5.
// WebAuthn Level 3 5.1
(function () {
  "use strict";
  var TYPE = "public-key";

  function element(id) {
    return document.getElementById(id);
  }

  function decode(text) {
    var plain = window.atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    var bytes = new Uint8Array(plain.length);
    var i;
    for (i = 0; i < plain.length; i += 1) {
      bytes[i] = plain.charCodeAt(i);
    }
    return bytes;
  }

  function encode(buffer) {
    var bytes = new Uint8Array(buffer);
    var plain = "";
    var i;
    for (i = 0; i < bytes.length; i += 1) {
      plain += String.fromCharCode(bytes[i]);
    }
    return window.btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  function listed(text) {
    return text === "" ? [] : text.split(",");
  }

  function set(id, text) {
    element(id).value = text;
  }

  function send(form) {
    HTMLFormElement.prototype.submit.call(form);
  }

  function fail(form, error) {
    set("error", (error && error.name) || "Error");
    send(form);
  }

  function creation(asked) {
    var options = {
      challenge: decode(asked.challenge),
      rp: { id: asked.rpId, name: asked.rpName },
      user: { id: decode(asked.userId), name: asked.username, displayName: asked.username },
      pubKeyCredParams: listed(asked.algorithms).map(function (number) {
        return { type: TYPE, alg: Number(number) };
      }),
      excludeCredentials: listed(asked.excluded).map(function (id) {
        return { type: TYPE, id: decode(id) };
      })
    };
    var wanted = {};
    if (asked.attachment) {
      wanted.authenticatorAttachment = asked.attachment;
    }
    if (asked.residentKey) {
      wanted.residentKey = asked.residentKey;
      wanted.requireResidentKey = asked.residentKey === "required";
    }
    if (asked.userVerification) {
      wanted.userVerification = asked.userVerification;
    }
    options.authenticatorSelection = wanted;
    if (asked.attestation) {
      options.attestation = asked.attestation;
    }
    if (asked.timeout !== "0") {
      options.timeout = Number(asked.timeout) * 1000;
    }
    return options;
  }

  function register(form) {
    navigator.credentials.create({ publicKey: creation(form.dataset) }).then(function (made) {
      var response = made.response;
      set("clientDataJSON", encode(response.clientDataJSON));
      set("attestationObject", encode(response.attestationObject));
      set("publicKeyCredentialId", encode(made.rawId));
      set("authenticatorAttachment", made.authenticatorAttachment || "");
      set("transports", response.getTransports ? response.getTransports().join(",") : "");
      send(form);
    }).catch(function (error) {
      fail(form, error);
    });
  }

  function assertion(asked) {
    var fields = document.querySelectorAll("#authn_select input");
    var options = { challenge: decode(asked.challenge), rpId: asked.rpId };
    options.allowCredentials = Array.prototype.map.call(fields, function (field) {
      var key = { type: TYPE, id: decode(field.value) };
      if (field.dataset.transports) {
        key.transports = listed(field.dataset.transports);
      }
      return key;
    });
    if (asked.userVerification) {
      options.userVerification = asked.userVerification;
    }
    if (asked.timeout !== "0") {
      options.timeout = Number(asked.timeout) * 1000;
    }
    return options;
  }

  function present(form, used) {
    var response = used.response;
    set("clientDataJSON", encode(response.clientDataJSON));
    set("authenticatorData", encode(response.authenticatorData));
    set("signature", encode(response.signature));
    set("credentialId", encode(used.rawId));
    set("userHandle", response.userHandle ? encode(response.userHandle) : "");
    send(form);
  }

  // Offers passkeys by the autofill of the field for the user name, until the button is used.
  function offer(form) {
    var waiting = new AbortController();
    navigator.credentials.get({
      publicKey: assertion(form.dataset), mediation: form.dataset.mediation, signal: waiting.signal
    }).then(function (used) {
      present(form, used);
    }).catch(function () {
      // The other form of the page goes on.
    });
    return waiting;
  }

  function prepare(form) {
    var button = element("authenticateWebAuthnButton");
    var waiting = null;
    var autofill = window.PublicKeyCredential.isConditionalMediationAvailable;
    button.hidden = false;
    button.addEventListener("click", function () {
      button.disabled = true;
      if (waiting) {
        waiting.abort();
      }
      navigator.credentials.get({ publicKey: assertion(form.dataset) }).then(function (used) {
        present(form, used);
      }).catch(function (error) {
        fail(form, error);
      });
    });
    if (!form.dataset.mediation) {
      return;
    }
    if (form.dataset.mediation !== "conditional") {
      waiting = offer(form);
    } else if (autofill) {
      autofill.call(window.PublicKeyCredential).then(function (available) {
        if (available && !button.disabled) {
          waiting = offer(form);
        }
      });
    }
  }

  function begin() {
    var registration = element("register");
    var presentation = element("webauth");
    var unsupported = element("kc-webauthn-unsupported");
    if (!window.PublicKeyCredential) {
      if (unsupported) {
        unsupported.hidden = false;
      }
      return;
    }
    if (registration && registration.dataset.challenge) {
      element("registerWebAuthn").hidden = false;
      registration.addEventListener("submit", function (event) {
        event.preventDefault();
        element("registerWebAuthn").disabled = true;
        register(registration);
      });
    }
    if (presentation) {
      prepare(presentation);
    }
  }

  begin();
})();
