// Reads a file into the field that the form submits, and says that a check takes a moment. Without this script users paste into the field.
(function () {
  var file = document.getElementById('file');
  var users = document.getElementById('users');
  var fault = document.getElementById('file-fault');
  var wait = document.getElementById('wait');
  if (!file || !users || !window.FileReader) return;
  var most = Number(file.getAttribute('data-most'));
  var tell = function (long) {
    fault.hidden = !long;
    if (long) file.setAttribute('aria-invalid', 'true');
    else file.removeAttribute('aria-invalid');
  };
  document.getElementById('file-field').hidden = false;
  file.addEventListener('change', function () {
    var chosen = file.files[0];
    if (!chosen) return;
    // a character has four bytes at most
    if (chosen.size > 4 * most) return tell(true);
    var reader = new window.FileReader();
    reader.addEventListener('load', function () {
      tell(reader.result.length > most);
      if (reader.result.length <= most) users.value = reader.result;
    });
    reader.readAsText(chosen);
  });
  users.form.addEventListener('submit', function (event) {
    if (!wait.hidden) return event.preventDefault();
    wait.hidden = false;
    wait.textContent = wait.getAttribute('data-text');
  });
  // a user who returns finds the form unchanged
  window.addEventListener('pageshow', function () {
    wait.hidden = true;
  });
})();
