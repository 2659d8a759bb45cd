import { defineConfig } from "vite";

export default defineConfig({
  build: {
    outDir: "../src/minertia/studio/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the policy of the page allows no inline data but pictures
    chunkSizeWarningLimit: 900,
    modulePreload: { polyfill: false },
  },
});
