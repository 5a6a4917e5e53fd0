// Sends the response of form_post, or leaves a front-channel logout once its frames are loaded.
// Without it the page's button does the same.
(function () {
  "use strict";
  var form = document.getElementById("form-post");
  var link = document.getElementById("continue");
  function leave() {
    window.location.replace(link.href);
  }
  if (form) {
    HTMLFormElement.prototype.submit.call(form);
  } else if (link) {
    window.addEventListener("load", leave);
    window.setTimeout(leave, 5000);
  }
})();
