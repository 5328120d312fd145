// Submits the response. Its text never changes, since the page's policy names its hash.
document.getElementById('form-post').submit();
