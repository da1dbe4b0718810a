import { admit } from '../engine/admit.ts'
import { idempotencyContext, keepContext, keptContext } from '../engine/context.ts'
import type { IdempotencyEngine } from '../engine/engine.ts'
import { bodyConsumedError } from '../engine/errors.ts'
import type { StoredResponse } from '../store/store.ts'
import { checkEngine } from './check-engine.ts'
import {
	readWebBody,
	readWebOptions,
	type WaitUntil,
	type WebAdapterOptions,
	webExchange,
} from './web/exchange.ts'
import { captureWebResponse, toWebResponse } from './web/response-capture.ts'

/** The part of Hono's context that is used. */
export type HonoContext = {
	readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> }
	res: Response
	/** Throws on platforms that have none. */
	readonly executionCtx: { waitUntil(promise: Promise<unknown>): void }
}

/**
 * Creates middleware for Hono: a repeated request with the same `Idempotency-Key` gets the stored response.
 * Handlers after it call `engine.context(c)`. If a handler fails, the status of the response of `onError`
 * decides whether it is stored. An error of `principal` goes to `onError` too. On Workers, pass `ctx` to
 * `app.fetch`, or the option `waitUntil`: a request with a key is an error without it.
 *
 * @example
 * import { Hono } from 'hono'
 *
 * const app = new Hono().use('/charges', honoIdempotency(engine))
 */
export function honoIdempotency<Tx, C extends HonoContext = HonoContext>(
	engine: IdempotencyEngine<Tx, C>,
	options: WebAdapterOptions = {},
): (c: C, next: () => Promise<void>) => Promise<void> {
	checkEngine(engine)
	const settings = readWebOptions(options, 'honoIdempotency')
	return async (c, next) => {
		if (keptContext(c, engine)) return next()
		const waitUntil = settings.waitUntil ?? waitUntilOf(c)
		const { raw } = c.req
		const exchange = webExchange(raw, c, waitUntil, 'app.fetch(request, env, ctx)', () =>
			readBody(c, engine.settings.maxRequestBytes),
		)
		const admission = await admit(engine, exchange)
		if (admission.kind === 'respond') return respond(c, admission.response)
		const { claim, path } = admission
		const described = { method: raw.method, path }
		keepContext(c, engine, idempotencyContext(engine, claim, described))
		if (!claim) return next()
		const run = async () => {
			await next()
			return c.res
		}
		const response = await captureWebResponse(engine, claim, described, run, waitUntil)
		if (response !== c.res) replaceResponse(c, response)
	}
}

function respond(c: HonoContext, stored: StoredResponse): void {
	const response = toWebResponse(stored)
	// What earlier middleware has set, such as the headers of CORS.
	for (const [name, value] of c.res.headers)
		if (!response.headers.has(name)) response.headers.append(name, value)
	replaceResponse(c, response)
}

/** Removes the old response first: Hono would add its headers to the new one. */
function replaceResponse(c: HonoContext, response: Response): void {
	Reflect.set(c, 'res', undefined)
	c.res = response
}

/** The bytes stay readable through `c.req` and `c.req.raw`. */
async function readBody({ req }: HonoContext, maxBytes: number): Promise<Uint8Array | undefined> {
	if (req.raw.bodyUsed) {
		// Hono keeps what it has read.
		const kept = await req.arrayBuffer().catch(() => {
			throw bodyConsumedError()
		})
		return new Uint8Array(kept)
	}
	return readWebBody(req.raw, maxBytes)
}

function waitUntilOf(c: HonoContext): WaitUntil | undefined {
	try {
		const { executionCtx } = c
		return (promise) => executionCtx.waitUntil(promise)
	} catch {
		return undefined
	}
}
