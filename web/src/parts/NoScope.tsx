// A page that the session may not see: which scope is missing, and who can grant it.
import type { Scope } from "../../../src/domain/access/Scope.ts"
import { words } from "../words.ts"
import { Icon } from "./Icon.tsx"
import { Page } from "./Page.tsx"

export const NoScope = ({ title, scope }: { readonly title: string; readonly scope: Scope }) => (
  <Page title={title}>
    <div class="say warn" role="status">
      <Icon name="warn" size={17} />
      <div>
        <b>
          {words.failure.needs} <code>{scope}</code>.
        </b>
        <p>{words.failure.who}</p>
      </div>
    </div>
  </Page>
)
