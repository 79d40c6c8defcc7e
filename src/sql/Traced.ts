// Whether spans are collected: then a request is told of whole, with all that is done for it.
import { Context, References, Tracer } from "effect"

export const isTraced = (context: Context.Context<never>): boolean =>
  Context.get(context, References.TracerEnabled) && Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer
