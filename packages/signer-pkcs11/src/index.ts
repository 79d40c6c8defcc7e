// Signers of effect-relayer in tokens of PKCS#11. The service loads this package when PKCS11_MODULES names a library, and knows only what is exported here.
import { codeOf, flags, results } from "./Cryptoki.ts"
import type { Cryptoki } from "./Cryptoki.ts"
import * as Library from "./Library.ts"

/** Libraries by path. A library has one state per process, so it is loaded once. */
const loaded = new Map<string, Library.Library>()

/** The name is a variable, so that the compiler does not need the types of a package that is installed apart. */
const packageName: string = "pkcs11js"

/** Loads pkcs11js, which is compiled when it is installed. Rejected if it cannot be loaded. */
export const load = async () => {
  const { default: pkcs11 }: { readonly default: { readonly PKCS11: new () => Cryptoki } } = await import(packageName)
  return {
    /** The library at a path, which is loaded once. Throws what the library throws. */
    open: (path: string): Library.Library => {
      const found = loaded.get(path)
      if (found !== undefined) return found
      const library = new pkcs11.PKCS11()
      library.load(path)
      try {
        library.C_Initialize({ flags: flags.osLocking })
      } catch (error) {
        if (codeOf(error) !== results.alreadyInitialized) throw error
      }
      const opened = Library.make(library)
      loaded.set(path, opened)
      return opened
    }
  }
}
