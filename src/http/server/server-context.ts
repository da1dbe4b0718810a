/**
 * The context of an incoming request: its deadline, its attempt number, and whether the caller retries. It is a real call of core, with a
 * retry layer if the caller has one, so policies inside find the caller's retry, deadline and signal like those of a surrounding
 * pipeline, and core does not know that they came over the network. The alternative, options that every policy and client has to
 * check, would be forgotten in the next one.
 */
import { Deadline } from '../../core/deadline/deadline.ts'
import { Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { compilePipeline, inheritEnv } from '../../core/engine/compile.ts'
import { Context } from '../../core/engine/context.ts'
import type { HeaderLookup } from '../../core/headers/header-values.ts'
import { RetryLayer } from '../../core/retry/layer.ts'
import { readRetryOptions } from '../../core/retry/options.ts'
import { readDeadline } from '../headers/deadline-headers.ts'
import { readAttempt, readCallerRetry } from '../headers/retry-headers.ts'
import type { NodeResponse } from './disconnect.ts'
import { type IncomingRequest, normalizeRequest } from './normalize-request.ts'
import {
	REQUEST_SCHEMA,
	readServerOptions,
	type ServerContext,
	type ServerContextRequestOptions,
	type ServerSettings,
} from './options.ts'

/** A context of core, so that core finds its call. */
class RequestContext extends Context implements ServerContext {
	readonly #call: Call

	constructor(call: Call, attempt: number) {
		super(call, call, attempt)
		this.#call = call
	}

	get isExpired(): boolean {
		return this.deadline?.isExpired === true
	}

	get retriesExhausted(): boolean {
		const { innerFailure } = this.#call.rare ?? {}
		// A failure that the retry in this service does not handle is left to the caller.
		return innerFailure !== undefined && innerFailure.stop !== 'should-retry-false'
	}

	end(): void {
		this.#call.settle(true, undefined)
	}
}

/** Keyed by the request and by the objects that frameworks wrap around it, because frameworks replace one or the other. */
const contexts = new WeakMap<object, ServerContext>()

/**
 * Creates the context of a request from its headers: deadline, attempt number, and which layer retries. Without options it returns
 * the context that a wrapper or an earlier call has created for this request, if there is one.
 *
 * @example
 * const context = createServerContext(request)
 * if (context.isExpired) return deadlineExceededResponse()
 * return policy.execute(({ signal }) => load(signal), context)
 */
export function createServerContext(
	request: IncomingRequest,
	options?: ServerContextRequestOptions,
): ServerContext {
	const known = options ? undefined : getServerContext(request)
	return known ?? openContext(request, readServerOptions(options ?? {}, REQUEST_SCHEMA), options?.response)
}

/**
 * Returns the context that a wrapper has created for this request, or undefined. Policies accept both as call options.
 *
 * @example
 * app.get('/users/:id', async (req, res) => {
 *   res.json(await policy.execute(({ signal }) => loadUser(req.params.id, signal), getServerContext(req)))
 * })
 */
export function getServerContext(request: IncomingRequest): ServerContext | undefined {
	for (const key of normalizeRequest(request).objects) {
		const context = contexts.get(key)
		if (context) return context
	}
	return undefined
}

/** Creates the context of a request and stores it for `getServerContext`. */
export function openContext(
	given: IncomingRequest,
	settings: ServerSettings,
	response?: NodeResponse,
): ServerContext {
	const { headers, objects, disconnectSignal } = normalizeRequest(given)
	const env = inheritEnv({ runtime: settings.runtime })
	const { trustRetryHeaders } = settings
	const nested = trustRetryHeaders ? readCallerRetry(headers) : undefined
	// Without retry headers the caller is assumed not to retry, and retry layers inside are the outermost.
	const layers = nested ? [{ layer: new RetryLayer(readRetryOptions({ nested })), ...env }] : []
	const pipeline = compilePipeline('request', layers, env)
	const options: CallOptions = {
		deadline: deadlineOf(headers, settings),
		// A getter, because most requests are answered before anything reads the signal.
		get signal() {
			return disconnectSignal(response, () => context.end())
		},
	}
	const call = new Call(pipeline, options, () => undefined)
	if (pipeline.first) call.enterLayer(pipeline.first)
	const context = new RequestContext(call, trustRetryHeaders ? readAttempt(headers) : 0)
	for (const key of objects) contexts.set(key, context)
	return context
}

function deadlineOf(headers: HeaderLookup, settings: ServerSettings): Deadline | undefined {
	const { deadlineHeaders, maxDeadlineMs, defaultDeadlineMs, marginMs, runtime } = settings
	const givenMs = readDeadline(headers, deadlineHeaders) ?? defaultDeadlineMs
	if (givenMs === undefined) return undefined
	return Deadline.after(Math.max(0, Math.min(givenMs, maxDeadlineMs) - marginMs), { runtime })
}
