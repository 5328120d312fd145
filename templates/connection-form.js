// Shows the addresses of a new connection with the ID that is typed. Without this script they have the proposed ID.
(function () {
  var id = document.getElementById('id');
  if (!id) return;
  document.querySelectorAll('.copied bdi').forEach(function (uri) {
    var parts = uri.textContent.split('/');
    var at = parts.indexOf('connections') + 1;
    id.addEventListener('input', function () {
      parts[at] = id.value.trim() || 'ID';
      uri.textContent = parts.join('/');
    });
  });
})();
