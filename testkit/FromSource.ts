// For `node --import`: imports of the package load its sources, so that examples run in a clone that was not built.
import { registerHooks } from "node:module"
import { pathToFileURL } from "node:url"
import { sources } from "./Entries.ts"

registerHooks({
  resolve: (specifier, context, next) => {
    const source = sources.get(specifier)
    return next(source === undefined ? specifier : pathToFileURL(source).href, context)
  }
})
