// The whole contract.
import { HttpApi, OpenApi } from "effect/http-api"
import { MetricsApi } from "./MetricsApi.ts"
import { NetworksApi } from "./NetworksApi.ts"
import { NotificationsApi } from "./NotificationsApi.ts"
import * as Document from "./Document.ts"
import { RelayersApi } from "./RelayersApi.ts"
import { SignersApi } from "./SignersApi.ts"
import { SystemApi } from "./SystemApi.ts"

export class Api extends HttpApi.make("effect-relayer")
  .add(RelayersApi)
  .add(SignersApi)
  .add(NotificationsApi)
  .add(NetworksApi)
  .add(SystemApi)
  .add(MetricsApi)
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "effect-relayer",
      version: "0.1.0",
      license: { name: "Apache-2.0" },
      description: Document.description,
      transform: Document.transform
    })
  ) {}
