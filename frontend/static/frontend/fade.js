// Runs before the first paint: a cross-page fade that the browser skips, as on the way to the same
// address after a form, is no error and must not be reported as one.

for (const kind of ["pageswap", "pagereveal"]) {
  addEventListener(kind, ({ viewTransition: fade }) => {
    for (const stage of ["ready", "finished", "updateCallbackDone"]) fade?.[stage].catch(() => {});
  });
}
