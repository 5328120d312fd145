// Takes the theme of VitePress, with enough contrast, and with a search button whose name is its text.
import theme from 'vitepress/theme-without-fonts';
import './access.css';

export default theme;
