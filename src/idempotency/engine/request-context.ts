import { YaokiError } from '../../core/errors/errors.ts'
import type { IdempotencyContext } from './context.ts'
import type { IdempotencyEngine } from './engine.ts'

/** By the object that a framework passes to its handlers, and by engine: an application may have several. */
const contexts = new WeakMap<object, Map<unknown, unknown>>()

export function keepContext<Tx>(
	request: object,
	engine: IdempotencyEngine<Tx>,
	context: IdempotencyContext<Tx>,
): void {
	contexts.set(request, (contexts.get(request) ?? new Map()).set(engine, context))
}

/** The context of an adapter that ran before with the same engine. A second claim of the same request would wait for the first. */
export const keptContext = <Tx>(
	request: object,
	engine: IdempotencyEngine<Tx>,
): IdempotencyContext<Tx> | undefined =>
	contexts.get(request)?.get(engine) as IdempotencyContext<Tx> | undefined

/**
 * Returns the context of a request: pass Express's `req`, Fastify's `request` or Hono's `c`. Throws if no adapter ran for it, because a handler
 * without its protection must not go unnoticed. With several engines it is the context of the one that ran last.
 *
 * @example
 * app.post('/charges', expressIdempotency(engine), async (req, res) => {
 *   const charge = await getIdempotencyContext(req).step('charge', ({ idempotencyKey }) => stripe.charge(req.body, { idempotencyKey }))
 *   res.status(201).json(charge)
 * })
 */
export function getIdempotencyContext<Tx = unknown>(request: object): IdempotencyContext<Tx> {
	const context = [...(contexts.get(request)?.values() ?? [])].at(-1)
	if (!context)
		throw new YaokiError(
			'YAOKI_IDEMPOTENCY_NO_CONTEXT',
			'This request has no idempotency context. Register expressIdempotency(engine), fastifyIdempotency(engine) or honoIdempotency(engine) before its handler',
		)
	return context as IdempotencyContext<Tx>
}
