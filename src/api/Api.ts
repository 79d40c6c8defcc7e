// The contract: every endpoint, and what the OpenAPI document says about all of them.
import { HttpApi, OpenApi } from "effect/http-api"
import { ApiKeysApi } from "./ApiKeysApi.ts"
import { AllTransactionsApi } from "./AllTransactionsApi.ts"
import { AttentionApi } from "./AttentionApi.ts"
import { AuditApi } from "./AuditApi.ts"
import { EventsApi } from "./EventsApi.ts"
import { FeesApi } from "./FeesApi.ts"
import { InstancesApi } from "./InstancesApi.ts"
import { MasterKeyApi } from "./MasterKeyApi.ts"
import { MetricsApi } from "./MetricsApi.ts"
import { NetworksApi } from "./NetworksApi.ts"
import { NodeCallsApi } from "./NodeCallsApi.ts"
import { NoncesApi } from "./NoncesApi.ts"
import { NotificationsApi } from "./NotificationsApi.ts"
import { ConfigurationApi } from "./ConfigurationApi.ts"
import * as Document from "./document/Document.ts"
import { PoliciesApi } from "./PoliciesApi.ts"
import { ProvidersApi } from "./ProvidersApi.ts"
import { RelayerHealthApi } from "./RelayerHealthApi.ts"
import { RelayersApi } from "./RelayersApi.ts"
import { scopesOf } from "./Scopes.ts"
import { SearchApi } from "./SearchApi.ts"
import { SignersApi } from "./SignersApi.ts"
import { SponsoredApi } from "./SponsoredApi.ts"
import { SigningApi } from "./SigningApi.ts"
import { StatisticsApi } from "./StatisticsApi.ts"
import { SystemApi } from "./SystemApi.ts"
import { TransactionSigningApi } from "./TransactionSigningApi.ts"
import { TransactionsApi } from "./TransactionsApi.ts"
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
  .add(PoliciesApi)
  .add(FeesApi)
  .add(SignersApi)
  .add(NotificationsApi)
  .add(NetworksApi)
  .add(ProvidersApi)
  .add(ApiKeysApi)
  .add(ConfigurationApi)
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
