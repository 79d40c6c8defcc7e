// Prints the modules that the imports of this process load, a line each. The arguments are what it imports.
import { registerHooks } from "node:module"

const loaded = new Set<string>()
registerHooks({
  load: (url, context, next) => {
    loaded.add(url)
    return next(url, context)
  }
})

for (const specifier of process.argv.slice(2)) await import(specifier)
process.stdout.write([...loaded].join("\n"))
