/** A gRPC service with one method, its client, and its server on the loopback, whose next calls can be made to fail. Messages are plain text. */
import * as grpc from '@grpc/grpc-js'
import { resilientServerInterceptor } from 'yaoki/grpc'

const encode = (text: string): Buffer => Buffer.from(text)
const decode = (bytes: Buffer): string => bytes.toString()

/** What code generation would create from a proto file. */
const GET: grpc.MethodDefinition<string, string> = {
	path: '/shop.Users/Get',
	requestStream: false,
	responseStream: false,
	requestSerialize: encode,
	requestDeserialize: decode,
	responseSerialize: encode,
	responseDeserialize: decode,
}

export class UsersClient extends grpc.Client {
	get(id: string): Promise<string> {
		const { path, requestSerialize, responseDeserialize } = GET
		return new Promise((resolve, reject) => {
			this.makeUnaryRequest(path, requestSerialize, responseDeserialize, id, (error, user = '') =>
				error ? reject(error) : resolve(user),
			)
		})
	}
}

export interface UsersServer {
	readonly address: string
	/** The next calls fail with UNAVAILABLE and these values of `grpc-retry-pushback-ms`. */
	failWith(...pushbacks: readonly number[]): void
	/** How many calls the bulkhead has rejected. */
	readonly rejected: number
	close(): void
}

/** Loading takes a moment, so that two calls at the same time meet in the bulkhead. */
const LOADING_MS = 50

export async function openUsers(): Promise<UsersServer> {
	// One call at a time. Clients that are rejected may return after about 100 ms.
	const interceptor = resilientServerInterceptor(grpc, {
		bulkhead: { maxConcurrent: 1, maxQueue: 0 },
		pushbackMs: 100,
	})
	let queue: number[] = []
	const get: grpc.handleUnaryCall<string, string> = (_call, callback) => {
		const pushbackMs = queue.shift()
		if (pushbackMs === undefined) {
			setTimeout(() => callback(null, 'Ada'), LOADING_MS)
			return
		}
		const metadata = new grpc.Metadata()
		metadata.set('grpc-retry-pushback-ms', String(pushbackMs))
		callback({ code: grpc.status.UNAVAILABLE, details: 'restarting', metadata })
	}
	const server = new grpc.Server({ interceptors: [interceptor] })
	server.addService({ Get: GET }, { Get: get })
	const credentials = grpc.ServerCredentials.createInsecure()
	const port = await new Promise<number>((resolve, reject) => {
		server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound)))
	})
	return {
		address: `127.0.0.1:${port}`,
		failWith: (...pushbacks) => {
			queue = [...pushbacks]
		},
		get rejected() {
			return interceptor.stats.rejected
		},
		close: () => server.forceShutdown(),
	}
}
