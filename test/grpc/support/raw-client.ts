/** A gRPC client on raw HTTP/2, for what grpc-js does not let a client do: any `grpc-timeout`, headers without a message, a cut connection. */
import {
	type ClientHttp2Session,
	type ClientHttp2Stream,
	connect,
	type IncomingHttpHeaders,
} from 'node:http2'
import { onTestFinished } from 'vitest'
import { type ItemInit, type MethodName, SERVICE, usersMethods } from './users.ts'

interface RawCall {
	readonly stream: ClientHttp2Stream
	/** The trailers, or the headers of a trailers-only response. Undefined if the stream was closed without them. */
	readonly trailers: Promise<IncomingHttpHeaders | undefined>
	send(item: ItemInit): void
	halfClose(): void
}

export interface RawClient {
	readonly session: ClientHttp2Session
	call(method: MethodName, headers?: Readonly<Record<string, string>>): RawCall
}

/** A client of this address, closed after the test. */
export function useRawClient(address: string): RawClient {
	const session = connect(`http://${address}`)
	session.on('error', () => {})
	onTestFinished(() => session.destroy())
	return {
		session,
		call(method, headers = {}) {
			const stream = session.request({
				':method': 'POST',
				':path': `/${SERVICE}/${method}`,
				'content-type': 'application/grpc+proto',
				te: 'trailers',
				...headers,
			})
			stream.on('error', () => {})
			const trailers = new Promise<IncomingHttpHeaders | undefined>((resolve) => {
				stream.once('response', (given) => {
					if (given['grpc-status'] !== undefined) resolve(given)
				})
				stream.once('trailers', resolve)
				stream.once('close', () => resolve(undefined))
			})
			stream.resume()
			return { stream, trailers, send: (item) => stream.write(frameOf(item)), halfClose: () => stream.end() }
		},
	}
}

/** A message with its prefix: not compressed, length. */
export function frameOf(item: ItemInit): Buffer {
	const body = usersMethods.Get.requestSerialize(item)
	const prefix = Buffer.alloc(5)
	prefix.writeUInt32BE(body.length, 1)
	return Buffer.concat([prefix, body])
}
