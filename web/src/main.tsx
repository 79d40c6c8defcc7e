// The entry point of the page: routes, and what is around all of them.
import { render } from "preact"
import { LocationProvider, Route, Router } from "preact-iso"
import { version } from "../../src/api/Version.ts"
import { NotFoundPage } from "./pages/NotFoundPage.tsx"
import { Shell } from "./parts/Shell.tsx"

const Console = () => (
  <LocationProvider scope="/console">
    <Shell main={[]} settings={[]} version={version}>
      <Router>
        <Route path="/console/*" component={NotFoundPage} />
        <Route default component={NotFoundPage} />
      </Router>
    </Shell>
  </LocationProvider>
)

const root = document.getElementById("console")
if (root !== null) render(<Console />, root)
