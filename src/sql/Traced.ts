// Whether spans are exported. If so, requests are not batched, so that the trace of each request is complete.
import { Context, References, Tracer } from "effect"

export const isTraced = (context: Context.Context<never>): boolean =>
  Context.get(context, References.TracerEnabled) && Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer
