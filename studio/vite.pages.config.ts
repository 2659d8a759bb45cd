import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

// pages of results: everything in one file, into which Python writes a head and the data (report/bundle.py)
function oneFile(name: string): Plugin {
  return {
    name: "one-file",
    enforce: "post", // the style is put together last
    generateBundle(_, bundle) {
      let script = "", style = "";
      for (const [file, made] of Object.entries(bundle)) {
        if (made.type === "chunk") script += made.code;
        else if (file.endsWith(".css")) style += made.source;
        delete bundle[file];
      }
      // the element must not end early, whatever a library holds
      script = script.replace(/<\/script/gi, "<\\/script").replace(/<!--/g, "<\\!--");
      const digest = createHash("sha256").update(script).digest("base64");
      const policy = `default-src 'none'; script-src 'sha256-${digest}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'`;
      const source = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<!--minertia-head-->
<style>${style}</style>
</head>
<body>
<div id="page"><noscript>This page is drawn by the script in it; its numbers are also in the command's --json.</noscript></div>
<!--minertia-data-->
<script>${script}</script>
</body>
</html>
`;
      this.emitFile({ type: "asset", fileName: `${name}.html`, source });
    },
  };
}

export default defineConfig(({ mode }) => {
  const name = mode === "scene" ? "scene" : "page";
  return {
    plugins: [oneFile(name)],
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    build: {
      outDir: "../src/minertia/report/static",
      emptyOutDir: false,
      cssCodeSplit: false,
      chunkSizeWarningLimit: 1000,
      modulePreload: false,
      rollupOptions: { input: `src/pages/${name}.tsx`, output: { format: "iife", codeSplitting: false } },
    },
  };
});
