import { defineConfig, type Plugin } from "vite";

// KaTeX names each font in three formats; every browser of this decade reads the first
const woff2Only: Plugin = {
  name: "woff2-only",
  enforce: "pre",
  transform(code, id) {
    if (!id.includes("katex") || !id.includes(".css")) return null;
    // relations of parameters are set in Main, Math, Size and AMS; no letter of theirs is in the other families
    const own = code.replace(/@font-face\s*{[^}]*KaTeX_(?:Caligraphic|Fraktur|SansSerif|Script|Typewriter)[^}]*}/g, "");
    return own.replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\(["'](?:woff|truetype)["']\)/g, "");
  },
};

export default defineConfig({
  plugins: [woff2Only],
  build: {
    outDir: "../src/minertia/studio/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the policy of the page allows no inline data but pictures
    chunkSizeWarningLimit: 900,
    modulePreload: { polyfill: false },
  },
});
