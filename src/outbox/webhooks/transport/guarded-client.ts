/**
 * Sends requests to URLs of customers, and only to public addresses. The protection has three parts: the URL
 * is checked (check-url.ts), the addresses of its host are checked when they are resolved and only they are
 * connected to (guarded-lookup.ts), and the address of the open connection is checked before the first byte
 * of a request is sent (connection-pool.ts). Redirects are not followed and no proxy is used: both would
 * connect to an address that was not checked.
 *
 * It is built on `node:http` and `node:https`, whose connections take a `lookup`. (Rejected: the client of
 * `yaoki/http`. The global `fetch` resolves hosts by itself. For the same reason a `fetch` of the user cannot
 * be combined with the protection.)
 */
import { permanent } from '../../../core/classify/permanent.ts'
import { InvalidArgumentError } from '../../../core/errors/errors.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { builtinModule } from '../../../sql/node-modules.ts'
import { checkWebhookUrl, readUrlRules, WEBHOOK_URL_SCHEMA, type WebhookUrlOptions } from './check-url.ts'
import { ConnectionPool } from './connection-pool.ts'
import { exchange, type GuardedRequest, type GuardedResponse } from './exchange.ts'
import type { WebhookLookup } from './guarded-lookup.ts'

export interface GuardedClientOptions extends WebhookUrlOptions {
	/** How much of a response is read, in bytes. A longer response ends its connection. Default 65,536. */
	readonly maxResponseBytes?: number | undefined
	/** Resolves host names. Its results are checked. Default: `dns.lookup` of Node. */
	readonly lookup?: WebhookLookup | undefined
	/** The timer for the body of a response. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

export interface GuardedClient {
	/**
	 * Sends a POST. Resolves with every status. Rejects with a `WebhookUrlError` (permanent) if the URL or an
	 * address of its host is not permitted, with the signal's reason, or with the error of the network. After
	 * the head of the response it no longer rejects: an abort or a broken body truncates the excerpt.
	 */
	send(request: GuardedRequest): Promise<GuardedResponse>
	/**
	 * Closes idle connections. Connections in use end after their response, and a later request opens new ones.
	 * Idle connections do not keep the process alive.
	 */
	close(): void
}

export const MAX_RESPONSE_BYTES = 16_777_216
export const DEFAULT_MAX_RESPONSE_BYTES = 65_536

const SCHEMA: OptionSchema = {
	...WEBHOOK_URL_SCHEMA,
	maxResponseBytes: [0, MAX_RESPONSE_BYTES, DEFAULT_MAX_RESPONSE_BYTES, 'integer'],
	lookup: 'function',
	runtime: 'any',
}

/**
 * Headers that frame the request or name its receiver. Another `host` would reach another site of the same
 * server.
 */
const OWN_HEADERS =
	/^(host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect)$/i

/** Creates a client that calls only public addresses, and those of `allow`. Needs Node. */
export function createGuardedClient(options: GuardedClientOptions = {}): GuardedClient {
	checkNames(options, SCHEMA, 'createGuardedClient')
	const { allow, ports, allowHttp, ...rest } = options
	const rules = readUrlRules({ allow, ports, allowHttp })
	const settings = readOptions<GuardedClientOptions & { maxResponseBytes: number }>(rest, SCHEMA)
	const { maxResponseBytes, lookup = nodeLookup(), runtime = systemRuntime } = settings
	if (typeof (runtime as Partial<Runtime> | null)?.setTimer !== 'function')
		invalidOption('runtime', runtime, 'a Runtime')
	const modules = { http: nodeModule('node:http'), https: nodeModule('node:https') }
	const pool = new ConnectionPool(modules, lookup, rules.allow)
	return {
		async send(request) {
			request.signal.throwIfAborted()
			const url = checkWebhookUrl(request.url, rules)
			checkHeaders(request.headers)
			return exchange(url, request, pool, { maxResponseBytes, runtime })
		},
		close: () => pool.close(),
	}
}

/** Another attempt would have the same headers, so the error is permanent. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
	const name = Object.keys(headers).find((one) => OWN_HEADERS.test(one))
	if (name === undefined) return
	const expected = 'no value, because the client sets this header'
	throw permanent(new InvalidArgumentError(`headers.${name}`, headers[name], expected))
}

/** Loaded on first use, so that users of an outbox without webhooks never load them. */
interface Modules {
	readonly 'node:http': typeof import('node:http')
	readonly 'node:https': typeof import('node:https')
	readonly 'node:dns': typeof import('node:dns')
}

function nodeModule<Name extends keyof Modules>(name: Name): Modules[Name] {
	const found = builtinModule<Modules[Name]>(name)
	if (!found) throw new TypeError(`Webhooks need ${name}, which this runtime does not have. Use Node.`)
	return found
}

function nodeLookup(): WebhookLookup {
	const dns = nodeModule('node:dns')
	return (hostname, options, callback) => dns.lookup(hostname, options, callback)
}
