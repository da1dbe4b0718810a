/**
 * The gRPC status codes that a failure of an HTTP request stands for. One HTTP status stands for several codes, because services map several
 * codes to it, and proxies add their own responses: 504 is the DEADLINE_EXCEEDED of a service and the UNAVAILABLE of a proxy. A failure is
 * retried if the service config lists any of them.
 */
import { classify } from '../../core/classify/classify.ts'
import { TimeoutError, YaokiError } from '../../core/errors/errors.ts'
import { HttpStatusError } from '../../http/request/status-error.ts'
import { headersOf } from '../../http/transport/transport.ts'
import {
	DEADLINE_EXCEEDED,
	OK,
	STATUS_NAMES,
	type StatusCode,
	type StatusName,
	UNAVAILABLE,
	UNKNOWN,
} from '../status/status.ts'

/**
 * What services send, as google.rpc.Code and Connect map their codes to HTTP, and what gRPC makes of the responses of proxies. gRPC also maps
 * 400 to INTERNAL and other client errors to UNKNOWN, which is left out: the server of an HTTP API means that the request is wrong.
 */
const NAMES: Readonly<Record<number, readonly StatusName[]>> = {
	400: ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'OUT_OF_RANGE'],
	401: ['UNAUTHENTICATED'],
	403: ['PERMISSION_DENIED'],
	404: ['NOT_FOUND', 'UNIMPLEMENTED'],
	408: ['DEADLINE_EXCEEDED'],
	409: ['ABORTED', 'ALREADY_EXISTS'],
	412: ['FAILED_PRECONDITION'],
	421: ['UNAVAILABLE'],
	425: ['UNAVAILABLE'],
	429: ['RESOURCE_EXHAUSTED', 'UNAVAILABLE'],
	499: ['CANCELLED'],
	500: ['INTERNAL', 'UNKNOWN', 'DATA_LOSS'],
	501: ['UNIMPLEMENTED'],
	502: ['UNAVAILABLE'],
	503: ['UNAVAILABLE'],
	504: ['DEADLINE_EXCEEDED', 'UNAVAILABLE'],
}

const CODES: ReadonlyMap<number, readonly StatusCode[]> = /* @__PURE__ */ new Map(
	Object.entries(NAMES).map(([status, names]) => [
		Number(status),
		names.map((name) => STATUS_NAMES.indexOf(name)),
	]),
)

const NONE: readonly StatusCode[] = []

/** Returns the status codes that a failed attempt stands for; none if it must not be retried. */
export function statusCodesOf(error: unknown): readonly StatusCode[] {
	if (error instanceof HttpStatusError) return ofResponse(error)
	if (error instanceof TimeoutError) return [DEADLINE_EXCEEDED]
	// The policies' own rejections, a response that is too large, the end of a hedged request whose result is not needed.
	if (error instanceof YaokiError) return NONE
	const { kind, isKnown } = classify(error)
	if (kind === 'permanent' || kind === 'cancelled') return NONE
	return [isKnown ? UNAVAILABLE : UNKNOWN]
}

/** A response of a gRPC server has the code in a header. */
function ofResponse({ response, statusCode }: HttpStatusError): readonly StatusCode[] {
	const written = headersOf(response).get('grpc-status')
	if (written && /^\d+$/.test(written) && Number(written) !== OK)
		return [Number(written) < STATUS_NAMES.length ? Number(written) : UNKNOWN]
	return CODES.get(statusCode) ?? (statusCode >= 400 && statusCode < 500 ? NONE : [UNKNOWN])
}
