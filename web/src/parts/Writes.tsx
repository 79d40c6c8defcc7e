// Buttons that change something: they are disabled while the service cannot be reached. The bar above the page says so.
import type { ComponentChildren } from "preact"
import { connection } from "../data/Connection.ts"
import { useAtom } from "./useAtom.ts"

/** A fieldset disables all buttons in it, and the Enter key of the form with them. It is no group for readers of screens. */
export const Writes = ({ children }: { readonly children: ComponentChildren }) => {
  const { lostAt } = useAtom(connection)
  return (
    <fieldset class="writes" role="presentation" disabled={lostAt !== undefined}>
      {children}
    </fieldset>
  )
}
