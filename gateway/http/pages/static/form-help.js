// Shows what a password field holds and copies a key, each by a button that is hidden without this
// script. A password field is one again before its form is sent. Plain ES5.
(function () {
  "use strict";

  function each(selector, use) {
    Array.prototype.forEach.call(document.querySelectorAll(selector), use);
  }

  each("button.reveal", function (button) {
    var field = document.getElementById(button.getAttribute("aria-controls"));

    function show(isShown) {
      field.type = isShown ? "text" : "password";
      button.setAttribute("aria-pressed", String(isShown));
    }

    button.addEventListener("click", function () {
      show(field.type === "password");
    });
    field.form.addEventListener("submit", function () {
      show(false);
    });
    window.addEventListener("pagehide", function () {
      show(false);
    });
    button.hidden = false;
  });

  // Focused, but below the code to scan: the page stays at its top, where the steps begin.
  each("[data-keeps-top]", function (field) {
    function scrollToTop() {
      window.requestAnimationFrame(function () {
        window.scrollTo(0, 0);
      });
    }

    if (document.activeElement === field) {
      scrollToTop();
    } else {
      field.addEventListener("focus", scrollToTop);
      // A tap of the user scrolls nowhere.
      window.addEventListener("load", function () {
        window.requestAnimationFrame(function () {
          field.removeEventListener("focus", scrollToTop);
        });
      });
    }
  });

  each("button[data-copies]", function (button) {
    var status = button.parentNode.querySelector("[data-copied]");
    // Browsers have no clipboard outside secure contexts.
    if (!navigator.clipboard) {
      return;
    }
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(button.getAttribute("data-copies")).then(function () {
        status.textContent = status.getAttribute("data-copied");
      }, function () {
        status.textContent = "";
      });
    });
    button.hidden = false;
  });
}());
