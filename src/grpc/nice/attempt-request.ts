/** Runs an attempt of nice-grpc as a request that calls of Connect can send. */
import type { RpcRequest, RpcResponse } from '../connect/connect-types.ts'
import { parsePath } from '../service-config/service-config.ts'
import { PREVIOUS_ATTEMPTS_KEY } from '../status/retry-metadata.ts'
import { setTrailer } from './call-error.ts'
import type { NiceCall, NiceCallOptions, NiceMetadata, NiceModule } from './nice-types.ts'

const TIMEOUT_KEY = 'grpc-timeout'

/** A response with the metadata of nice-grpc, which may have binary values. */
export interface NiceResponse extends RpcResponse {
	readonly received: ReceivedMetadata
}

interface ReceivedMetadata {
	header?: NiceMetadata
	trailer?: NiceMetadata
}

/** Returns the request of a call. It has only the headers that policies read. */
export function requestOf(
	call: NiceCall<unknown, unknown>,
	{ metadata, signal }: NiceCallOptions,
): RpcRequest {
	const { service, method } = parsePath(call.method.path)
	const header = new Headers({ 'content-type': 'application/grpc' })
	const timeout = metadata?.get(TIMEOUT_KEY)
	if (typeof timeout === 'string') header.set(TIMEOUT_KEY, timeout)
	return {
		url: '',
		service: { typeName: service },
		method: { name: method },
		stream: call.requestStream,
		message: call.request,
		header,
		signal: signal ?? new AbortController().signal,
	}
}

/** Returns a function that sends an attempt. */
export function sender(
	nice: NiceModule,
	call: NiceCall<unknown, unknown>,
	options: NiceCallOptions,
): (request: RpcRequest) => Promise<NiceResponse> {
	return async ({ message, header, signal }) => {
		const received: ReceivedMetadata = {}
		const metadata = new nice.Metadata(options.metadata as never)
		for (const key of [PREVIOUS_ATTEMPTS_KEY, TIMEOUT_KEY]) {
			const value = header.get(key)
			if (value !== null) metadata.set(key, value)
		}
		let onHeader = () => {}
		const begun = new Promise<void>((resolve) => {
			onHeader = resolve
		})
		const source = call.next(
			message as never,
			{
				...options,
				metadata,
				signal,
				onHeader(given: NiceMetadata) {
					received.header = given
					onHeader()
				},
				onTrailer(given: NiceMetadata) {
					received.trailer = given
				},
			} as never,
		)
		const first = withTrailer(source.next(), received)
		const response = { header: new Headers(), trailer: new Headers(), received }
		if (!call.responseStream) return { ...response, stream: false, message: (await first).value }
		await Promise.race([begun, first])
		return { ...response, stream: true, message: messages(first, source, received) }
	}
}

async function* messages(
	first: Promise<IteratorResult<unknown, unknown>>,
	source: AsyncGenerator<unknown, unknown, undefined>,
	received: ReceivedMetadata,
): AsyncGenerator<unknown> {
	try {
		for (let next = await first; !next.done; next = await withTrailer(source.next(), received))
			yield next.value
	} finally {
		await source.return(undefined)
	}
}

/** Remembers the trailers of an attempt that fails. */
async function withTrailer<T>(result: Promise<T>, received: ReceivedMetadata): Promise<T> {
	try {
		return await result
	} catch (error) {
		setTrailer(error, received.trailer)
		throw error
	}
}
