// The handler of `SearchApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Api } from "../../api/Api.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { Audit } from "../audit/Audit.ts"
import { Networks } from "../networks/Networks.ts"
import { Relayers } from "../relayers/Relayers.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import * as Search from "./Search.ts"

export const SearchHttp = HttpApiBuilder.group(
  Api,
  "search",
  Effect.fnUntraced(function* (handlers) {
    const search = yield* Search.make
    return handlers.handleAll({ find: ({ query }) => Respond.one(search.find(query)) })
  })
).pipe(GroupServices.limitTo(SqlClient.SqlClient, Networks, Relayers, Ledger, Audit))
