// The contract: every endpoint, and what the OpenAPI document says about all of them.
import { HttpApi, OpenApi } from "effect/http-api"
import { AuditApi } from "./AuditApi.ts"
import { ClaimsApi } from "./ClaimsApi.ts"
import { DelegationsApi } from "./DelegationsApi.ts"
import { NoncesApi } from "./NoncesApi.ts"
import { ConfigurationApi } from "./ConfigurationApi.ts"
import { SignersApi } from "./SignersApi.ts"
import { ApiKeysApi, MasterKeyApi } from "./ApiKeysApi.ts"
import { scopesOf } from "./Endpoint.ts"
import { NetworksApi, ProvidersApi } from "./NetworksApi.ts"
import { EventsApi, NotificationsApi } from "./NotificationsApi.ts"
import { AttentionApi, InstancesApi, SearchApi, StatisticsApi } from "./OverviewApi.ts"
import { PoliciesApi, RelayerHealthApi, RelayersApi } from "./RelayersApi.ts"
import { NodeCallsApi, SigningApi, TransactionSigningApi } from "./SigningApi.ts"
import { MetricsApi, SystemApi } from "./SystemApi.ts"
import { AllTransactionsApi, FeesApi, SponsoredApi, TransactionsApi } from "./TransactionsApi.ts"
import * as Document from "./document/Document.ts"
import { version } from "./Version.ts"

const endpoints = HttpApi.make("effect-relayer")
  .add(RelayersApi)
  .add(RelayerHealthApi)
  .add(TransactionsApi)
  .add(AllTransactionsApi)
  .add(SigningApi)
  .add(TransactionSigningApi)
  .add(SponsoredApi)
  .add(NodeCallsApi)
  .add(NoncesApi)
  .add(DelegationsApi)
  .add(PoliciesApi)
  .add(FeesApi)
  .add(SignersApi)
  .add(NotificationsApi)
  .add(NetworksApi)
  .add(ProvidersApi)
  .add(ApiKeysApi)
  .add(ConfigurationApi)
  .add(ClaimsApi)
  .add(AuditApi)
  .add(EventsApi)
  .add(MasterKeyApi)
  .add(AttentionApi)
  .add(SearchApi)
  .add(StatisticsApi)
  .add(InstancesApi)
  .add(SystemApi)
  .add(MetricsApi)

const scopes = scopesOf(endpoints)

export class Api extends endpoints
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotateMerge(
    OpenApi.annotations({
      title: "effect-relayer",
      version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      servers: [{ url: "/", description: "The instance that serves this document." }],
      description: Document.description,
      transform: (document) => Document.transform(document, scopes)
    })
  ) {}
