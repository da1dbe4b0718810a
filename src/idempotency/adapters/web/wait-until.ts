/**
 * What keeps a request of Workers and similar platforms alive after its response. Without it, a response that is stored late, or whose client has left,
 * is lost silently, and a repeated request runs again. So a missing one is an error where the platform is known to need it.
 */
import { YaokiError } from '../../../core/errors/errors.ts'
import { checkNames, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import { isWorkers } from '../../engine/is-workers.ts'

export type WaitUntil = (promise: Promise<unknown>) => void

/** Options of the adapters for fetch handlers and Hono. */
export interface WebAdapterOptions {
	/** Keeps a request alive until a promise settles, where `ctx` is not passed on: `waitUntil` of `cloudflare:workers`, or `after` of Next.js. Default: that of `ctx`. */
	readonly waitUntil?: WaitUntil | undefined
}

const SCHEMA: OptionSchema = { waitUntil: 'function' }

export function readWebOptions(options: WebAdapterOptions, owner: string): WebAdapterOptions {
	checkNames(options, SCHEMA, owner)
	return readOptions<WebAdapterOptions>(options, SCHEMA)
}

/** `call` is how the user passes `ctx` on. */
export function checkWaitUntil(waitUntil: WaitUntil | undefined, call: string): void {
	if (waitUntil || !isWorkers()) return
	throw new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_WAIT_UNTIL',
		`Workers end what runs after the response, so the response might not be stored. Pass ctx on: ${call}, or the option waitUntil`,
	)
}
