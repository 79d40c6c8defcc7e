// The router: it shows the sign-in page, or a page inside the frame with navigation, connection and session.
import type { ComponentType } from "preact"
import { LocationProvider, Route, Router, useLocation } from "preact-iso"
import { useEffect } from "preact/hooks"
import { version } from "../../src/api/Version.ts"
import type { Scope } from "../../src/domain/access/ApiKey.ts"
import type { CurrentSession } from "../../src/domain/access/Caller.ts"
import { versions } from "./data/Client.ts"
import { now } from "./data/Clock.ts"
import { connection } from "./data/Connection.ts"
import { may, sessionState, signOut } from "./data/Session.ts"
import { searchHref } from "./data/SearchText.ts"
import { clock, duration } from "./data/Times.ts"
import { words } from "./words.ts"
import { AuditPage } from "./pages/AuditPage.tsx"
import { ClaimsPage } from "./pages/ClaimsPage.tsx"
import { EventsPage } from "./pages/EventsPage.tsx"
import { KeyPage } from "./pages/KeyPage.tsx"
import { KeysPage } from "./pages/KeysPage.tsx"
import { NetworkPage, NetworksPage } from "./pages/NetworksPage.tsx"
import { NewPage } from "./pages/NewPage.tsx"
import { OverviewPage } from "./pages/OverviewPage.tsx"
import { SearchPage } from "./pages/SearchPage.tsx"
import { SendPage } from "./pages/SendPage.tsx"
import { SessionsPage } from "./pages/SessionsPage.tsx"
import { SignerPage, SignersPage } from "./pages/SignersPage.tsx"
import { WebhookPage, WebhooksPage } from "./pages/WebhooksPage.tsx"
import { NotFoundPage } from "./pages/NotFoundPage.tsx"
import { RelayerPage } from "./pages/RelayerPage.tsx"
import { RelayersPage } from "./pages/RelayersPage.tsx"
import { SignInForm, SignInPage } from "./pages/SignInPage.tsx"
import { SystemPage } from "./pages/SystemPage.tsx"
import { TransactionPage } from "./pages/TransactionPage.tsx"
import { TransactionsPage } from "./pages/TransactionsPage.tsx"
import { Dialog } from "./parts/Dialog.tsx"
import { Icon } from "./parts/Icon.tsx"
import { NoScope } from "./parts/NoScope.tsx"
import { SearchBox } from "./parts/SearchBox.tsx"
import { Shell } from "./parts/Shell.tsx"
import { Shortcuts } from "./parts/Shortcuts.tsx"
import type { Entry } from "./parts/Shell.tsx"
import { useAtom, useSecond } from "./parts/useAtom.ts"

interface ScopedEntry extends Entry {
  /** Absent: every session may see the page. */
  readonly scope?: Scope
}

const mainEntries: ReadonlyArray<ScopedEntry> = [
  { href: "/console/", icon: "home", label: words.overview.title },
  { href: "/console/relayers", icon: "rel", label: words.relayers.title, scope: "relayers:read" },
  { href: "/console/transactions", icon: "tx", label: words.transactions.title, scope: "transactions:read" },
  { href: "/console/webhooks", icon: "hook", label: words.webhooks.title, scope: "notifications:read" },
  { href: "/console/events", icon: "ev", label: words.events.title, scope: "events:read" },
  { href: "/console/claims", icon: "wait", label: words.claims.title, scope: "claims:read" }
]

const settingsEntries: ReadonlyArray<ScopedEntry> = [
  { href: "/console/networks", icon: "net", label: words.networks.title, scope: "networks:read" },
  { href: "/console/signers", icon: "sign", label: words.signers.title, scope: "signers:read" },
  { href: "/console/keys", icon: "key", label: words.keys.title, scope: "api-keys:read" },
  { href: "/console/signed-in", icon: "ok", label: words.sessions.title },
  { href: "/console/audit", icon: "aud", label: words.audit.title, scope: "audit:read" },
  { href: "/console/system", icon: "sys", label: words.system.title }
]

const Live = () => {
  useSecond()
  const { reachedAt, lostAt } = useAtom(connection)
  if (lostAt !== undefined) return null
  return (
    <span class="live">
      <i />
      {words.connection.live}
      {reachedAt !== undefined && <span class="hide mut"> · {duration(now() - reachedAt)}</span>}
    </span>
  )
}

/** Over everything, because what is below it may have changed. */
const Lost = () => {
  const { reachedAt, lostAt } = useAtom(connection)
  return (
    <div role="alert">
      {lostAt !== undefined && (
        <p class="lost">{words.connection.lost(clock(lostAt), reachedAt === undefined ? "–" : clock(reachedAt))}</p>
      )}
    </div>
  )
}

/** A tab that stayed open over an upgrade. It reloads when its person wants it, because a form may be filled. */
const NewVersion = () => {
  const { first, last } = useAtom(versions)
  if (last === undefined || last === first) return null
  return (
    <p class="read-only" role="status">
      {words.connection.newVersion(last)}{" "}
      <button class="btn s" type="button" onClick={() => location.reload()}>
        {words.connection.reload}
      </button>
    </p>
  )
}

const Who = ({ session }: { readonly session: CurrentSession }) => {
  useSecond()
  const name = session.key_name ?? (session.key_id === "administrator" ? words.session.administrator : session.key_id)
  const left = session.expires_at.epochMilliseconds - now()
  return (
    <>
      <span class="who hide">
        <Icon name="key" size={13} />
        <bdi>{name}</bdi>
        <span class="mut">
          · {duration(left)} {words.session.left}
        </span>
      </span>
      <button class="btn s" type="button" onClick={signOut}>
        {words.session.signOut}
      </button>
    </>
  )
}

/** A page without the scope that it needs says so, and asks for nothing. */
const guarded = (scope: Scope | ReadonlyArray<Scope>, title: string, Content: ComponentType) => () => {
  const session = useAtom(sessionState)
  const missing = [scope].flat().find((needed) => !may(session, needed))
  return missing === undefined ? <Content /> : <NoScope title={title} scope={missing} />
}

const pages = {
  relayers: guarded("relayers:read", words.relayers.title, RelayersPage),
  relayer: guarded("relayers:read", words.relayers.one, RelayerPage),
  send: guarded(["relayers:read", "transactions:write"], words.send.title, SendPage),
  transactions: guarded("transactions:read", words.transactions.title, TransactionsPage),
  transaction: guarded("transactions:read", words.transactions.one, TransactionPage),
  webhooks: guarded("notifications:read", words.webhooks.title, WebhooksPage),
  webhook: guarded("notifications:read", words.webhooks.title, WebhookPage),
  events: guarded("events:read", words.events.title, EventsPage),
  claims: guarded("claims:read", words.claims.title, ClaimsPage),
  networks: guarded("networks:read", words.networks.title, NetworksPage),
  network: guarded("networks:read", words.networks.title, NetworkPage),
  signers: guarded("signers:read", words.signers.title, SignersPage),
  signer: guarded("signers:read", words.signers.title, SignerPage),
  keys: guarded("api-keys:read", words.keys.title, KeysPage),
  key: guarded("api-keys:read", words.keys.one, KeyPage),
  audit: guarded("audit:read", words.audit.title, AuditPage)
}

/** A bookmark of the sign-in leads to the overview, whatever its query says. */
const AfterSignIn = () => {
  const { route } = useLocation()
  useEffect(() => route("/console/", true), [route])
  return null
}

const Routes = () => (
  <Router>
    <Route path="/console" component={OverviewPage} />
    <Route path="/console/relayers" component={pages.relayers} />
    <Route path="/console/relayers/:id/send" component={pages.send} />
    <Route path="/console/relayers/:id/:tab?" component={pages.relayer} />
    <Route path="/console/transactions" component={pages.transactions} />
    <Route path="/console/transactions/:id" component={pages.transaction} />
    <Route path="/console/webhooks" component={pages.webhooks} />
    <Route path="/console/webhooks/:id" component={pages.webhook} />
    <Route path="/console/events" component={pages.events} />
    <Route path="/console/claims/:name?" component={pages.claims} />
    <Route path="/console/networks" component={pages.networks} />
    <Route path="/console/networks/:id" component={pages.network} />
    <Route path="/console/search" component={SearchPage} />
    <Route path="/console/signers" component={pages.signers} />
    <Route path="/console/signers/:id" component={pages.signer} />
    <Route path="/console/signed-in" component={SessionsPage} />
    <Route path="/console/keys" component={pages.keys} />
    <Route path="/console/keys/:id" component={pages.key} />
    <Route path="/console/audit" component={pages.audit} />
    <Route path="/console/system" component={SystemPage} />
    <Route path="/console/sign-in" component={AfterSignIn} />
    <Route path="/console/new/:kind" component={NewPage} />
    <Route default component={NotFoundPage} />
  </Router>
)

const Pages = () => {
  const state = useAtom(sessionState)
  if (state.kind === "out") return <SignInPage />
  if (state.kind === "unknown") return <Lost />
  const { session } = state
  const shown = (entries: ReadonlyArray<ScopedEntry>) =>
    entries.filter(({ scope }) => scope === undefined || may(state, scope))
  return (
    <>
      <Shell
        main={shown(mainEntries)}
        settings={shown(settingsEntries)}
        version={version}
        search={<SearchBox hrefOf={searchHref} />}
        head={
          <>
            <Live />
            <Shortcuts />
            <Who session={session} />
          </>
        }
      >
        <Lost />
        <NewVersion />
        {session.read_only && <p class="read-only">{words.session.readOnly}</p>}
        <Routes />
      </Shell>
      {state.kind === "ended" && (
        <Dialog title={words.signIn.again}>
          <SignInForm title={words.signIn.title} />
        </Dialog>
      )}
    </>
  )
}

/** The address stays while a person signs in, so that a link leads to its page afterwards. */
export const App = () => (
  <LocationProvider scope="/console">
    <Pages />
  </LocationProvider>
)
