// Offers the names of time zones that the browser knows: the list is long, and most browsers have it already.
(function () {
  var list = document.getElementById('zones');
  if (!list || !Intl.supportedValuesOf) return;
  Intl.supportedValuesOf('timeZone').forEach(function (zone) {
    list.appendChild(document.createElement('option')).value = zone;
  });
})();
