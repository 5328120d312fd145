// Takes the theme of VitePress, with colors that have enough contrast.
import theme from 'vitepress/theme-without-fonts';
import './contrast.css';

export default theme;
