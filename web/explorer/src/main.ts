import { mount } from 'svelte';
import App from './App.svelte';
import './theme.css';
import { begin, showFirst } from './begin';

const place = document.getElementById('app')!;
const missing = ['WebAssembly', 'DecompressionStream', 'OffscreenCanvas', 'IntersectionObserver', 'Worker'].filter((name) => !(name in window));
if (missing.length) {
  place.textContent =
    `This page computes everything in your browser, and this browser lacks ${missing.join(', ')}. ` +
    'Any Chromium, Firefox or Safari of 2023 or later has what is needed.';
} else {
  place.textContent = '';
  showFirst();
  mount(App, { target: place });
  performance.mark('first picture');
  void begin();
}
