// What the session may not do: which scope is missing, and how to get it. It is a whole page, or the first thing in a form.
import type { Scope } from "../../../src/domain/access/ApiKey.ts"
import { isReadOnly, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Icon } from "./Icon.tsx"
import { Page } from "./Page.tsx"
import { useAtom } from "./useAtom.ts"

/** A read-only session lacks the scopes that change something, whatever its key has. */
export const MissingScope = ({ scope }: { readonly scope: Scope }) => {
  const session = useAtom(sessionState)
  return (
    <div class="say warn" role="status">
      <Icon name="warn" size={17} />
      <div>
        <b>
          {words.failure.needs} <code>{scope}</code>.
        </b>
        <p>{isReadOnly(session) && !scope.endsWith(":read") ? words.failure.whoReadOnly : words.failure.who}</p>
      </div>
    </div>
  )
}

export const NoScope = ({ title, scope }: { readonly title: string; readonly scope: Scope }) => (
  <Page title={title}>
    <MissingScope scope={scope} />
  </Page>
)
