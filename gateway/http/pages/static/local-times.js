// Shows times in the zone of the browser, in the language of the page. Without it they are in UTC,
// which stays as the title of each. Plain ES5.
(function () {
  "use strict";
  var times = document.querySelectorAll("time[datetime]");
  var format;

  try {
    format = new Intl.DateTimeFormat(document.documentElement.lang, {
      day: "numeric",
      hour: "numeric",
      minute: "2-digit",
      month: "short",
      timeZoneName: "short",
      year: "numeric"
    });
  } catch (unsupported) {
    return;
  }
  Array.prototype.forEach.call(times, function (time) {
    var moment = new Date(time.getAttribute("datetime"));
    if (!isNaN(moment.getTime())) {
      time.title = time.textContent;
      time.textContent = format.format(moment);
    }
  });
}());
