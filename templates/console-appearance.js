// Shows the preview as the administrator types, and reads chosen images into the fields that the form submits.
(function () {
  var form = document.getElementById('appearance');
  var colors = document.getElementById('preview-colors');
  if (!form || !colors || !window.FileReader) return;
  var each = function (selector, act) {
    Array.prototype.forEach.call(document.querySelectorAll(selector), act);
  };
  var most = 256 * 1024;
  document.getElementById('no-script').hidden = true;

  var name = document.getElementById('product_name');
  name.addEventListener('input', function () {
    each('[data-name]', function (shown) {
      shown.textContent = name.value.trim() || shown.getAttribute('data-name');
    });
  });

  var accent = document.getElementById('accent_color');
  var picker = document.getElementById('picker');
  var base = colors.getAttribute('href').replace(/(\.[0-9a-f]{6})?\.css$/, '');
  var showAccent = function () {
    var value = accent.value.trim().toLowerCase();
    var valid = /^#[0-9a-f]{6}$/.test(value);
    if (valid && picker) picker.value = value;
    if (valid || value === '') colors.href = base + (valid ? '.' + value.slice(1) : '') + '.css';
  };
  accent.addEventListener('input', showAccent);
  if (picker) {
    picker.hidden = false;
    picker.addEventListener('input', function () {
      accent.value = picker.value;
      showAccent();
    });
  }

  var logos = {};
  var showLogos = function () {
    each('.preview .brand', function (brand) {
      var source = (/dark/.test(brand.parentNode.className) && logos.logo && logos.logo_dark) || logos.logo;
      var image = brand.querySelector('img');
      if (image && !source) brand.removeChild(image);
      if (source && !image) {
        image = document.createElement('img');
        image.alt = '';
        brand.insertBefore(image, brand.firstChild);
      }
      if (source) image.src = source;
      brand.querySelector('.own').hidden = Boolean(source);
    });
  };
  each('[data-image]', function (field) {
    var part = field.getAttribute('data-image');
    var thumb = field.querySelector('.thumb');
    var before = thumb && thumb.getAttribute('src');
    logos[part] = before;
    var input = field.querySelector('input[type="file"]');
    if (!input) return;
    var text = field.querySelector('textarea');
    var remove = field.querySelector('input[type="checkbox"]');
    var fault = document.getElementById(part + '-fault');
    input.disabled = false;
    if (remove)
      remove.addEventListener('change', function () {
        if (remove.checked) {
          text.value = '';
          input.value = '';
        }
        logos[part] = remove.checked ? null : before;
        showLogos();
      });
    input.addEventListener('change', function () {
      var file = input.files[0];
      fault.textContent = '';
      if (!file) return;
      if (file.size > most || !/^image\/(png|webp)$/.test(file.type)) {
        fault.textContent = fault.getAttribute(file.size > most ? 'data-size' : 'data-kind');
        input.value = '';
        return;
      }
      var reader = new window.FileReader();
      reader.addEventListener('load', function () {
        text.value = reader.result.slice(reader.result.indexOf(',') + 1);
        if (remove) remove.checked = false;
        logos[part] = reader.result;
        if (thumb) thumb.src = reader.result;
        showLogos();
      });
      reader.readAsDataURL(file);
    });
  });
})();
