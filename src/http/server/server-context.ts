/**
 * What a request says about the call that it is part of, as the context of a call in this process. It is a real call of core,
 * with a retry around its work when the caller has one: so a policy inside finds the caller's retry, deadline and signal the way it
 * finds those of a pipeline around it, and nothing in core knows that they came over a wire. The alternative, options that
 * every policy and client would have to look at, would be forgotten by the next one that is written.
 */
import { Deadline } from '../../core/deadline/deadline.ts'
import { Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { compilePipeline, inheritEnv } from '../../core/engine/compile.ts'
import { RetryLayer } from '../../core/retry/layer.ts'
import { readRetryOptions } from '../../core/retry/options.ts'
import { type HeaderReader, readDeadline } from '../headers/deadline-headers.ts'
import { readAttempt, readCallerRetry } from '../headers/retry-headers.ts'
import type { NodeResponse } from './disconnect.ts'
import { type IncomingRequest, normalizeRequest } from './normalize-request.ts'
import {
	REQUEST_RULES,
	readServerOptions,
	type ServerContextRequestOptions,
	type ServerSettings,
} from './options.ts'
import { RequestContext, type ServerContext } from './request-context.ts'

/** By the request and by what frameworks put around it: they replace one or the other on the way. */
const contexts = new WeakMap<object, ServerContext>()

/**
 * Reads what the caller of a request said: by when it needs an answer, which attempt this is, and who retries. Without options it
 * answers the context that a wrapper or an earlier call has made for this request, if there is one.
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
	return known ?? openContext(request, readServerOptions(options ?? {}, REQUEST_RULES), options?.response)
}

/**
 * The context that a wrapper has made for this request; undefined when none has. Policies take either as their options.
 *
 * @example
 * app.get('/users/:id', async (req, res) => {
 *   res.json(await policy.execute(({ signal }) => loadUser(req.params.id, signal), getServerContext(req)))
 * })
 */
export function getServerContext(request: IncomingRequest): ServerContext | undefined {
	for (const face of normalizeRequest(request).faces) {
		const context = contexts.get(face)
		if (context) return context
	}
	return undefined
}

/** Makes the context of a request, and keeps it for whoever asks by that request. */
export function openContext(
	given: IncomingRequest,
	settings: ServerSettings,
	response?: NodeResponse,
): ServerContext {
	const { headers, faces, followClient } = normalizeRequest(given)
	const around = inheritEnv({ runtime: settings.runtime })
	const nested = readCallerRetry(headers)
	// A caller that says nothing about retries has none as far as anybody here knows, and those inside are the outermost.
	const layers = nested ? [{ layer: new RetryLayer(readRetryOptions({ nested })), ...around }] : []
	const plan = compilePipeline('request', layers, around)
	const options: CallOptions = {
		deadline: deadlineOf(headers, settings),
		// Read once, by the first who wants a signal: most requests are answered before anybody does.
		get signal() {
			return followClient(response, () => context.end())
		},
	}
	const call = new Call(plan, options, () => undefined)
	if (plan.first) call.enterLayer(plan.first)
	const context = new RequestContext(call, readAttempt(headers))
	for (const face of faces) contexts.set(face, context)
	return context
}

function deadlineOf(headers: HeaderReader, settings: ServerSettings): Deadline | undefined {
	const { deadlineHeaders, maxDeadlineMs, defaultDeadlineMs, marginMs, runtime } = settings
	const givenMs = readDeadline(headers, deadlineHeaders) ?? defaultDeadlineMs
	if (givenMs === undefined) return undefined
	return Deadline.after(Math.max(0, Math.min(givenMs, maxDeadlineMs) - marginMs), { runtime })
}
