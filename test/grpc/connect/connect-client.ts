/** Clients of the test service, one for each transport of Connect. */
import {
	type CallOptions,
	type Client,
	ConnectError,
	createClient,
	type Interceptor,
	type Transport,
} from '@connectrpc/connect'
import {
	createConnectTransport,
	createGrpcTransport,
	createGrpcWebTransport,
	Http2SessionManager,
} from '@connectrpc/connect-node'
import { onTestFinished } from 'vitest'
import { type ItemInit, type ItemMessage, type MethodName, Users } from '../support/users.ts'

export const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

interface Options {
	readonly baseUrl: string
	readonly interceptors: Interceptor[]
	readonly sessionManager: Http2SessionManager
}

const HTTP2 = {
	grpc: (options: Options) => createGrpcTransport(options),
	connect: (options: Options) => createConnectTransport({ ...options, httpVersion: '2' }),
	'connect with JSON': (options: Options) =>
		createConnectTransport({ ...options, httpVersion: '2', useBinaryFormat: false }),
	'grpc-web': (options: Options) => createGrpcWebTransport({ ...options, httpVersion: '2' }),
} as const

const HTTP1 = {
	'connect on HTTP/1.1': ({ baseUrl, interceptors }: Options) =>
		createConnectTransport({ baseUrl, interceptors, httpVersion: '1.1' }),
	'grpc-web on HTTP/1.1': ({ baseUrl, interceptors }: Options) =>
		createGrpcWebTransport({ baseUrl, interceptors, httpVersion: '1.1' }),
} as const

export type TransportName = keyof typeof HTTP2 | keyof typeof HTTP1

/** All transports with the methods that they support: HTTP/1.1 has no bidirectional streams. */
export const TRANSPORTS: readonly (readonly [TransportName, readonly MethodName[]])[] = [
	...(Object.keys(HTTP2) as (keyof typeof HTTP2)[]).map((name) => [name, METHODS] as const),
	...(Object.keys(HTTP1) as (keyof typeof HTTP1)[]).map(
		(name) => [name, METHODS.filter((method) => method !== 'Chat')] as const,
	),
]

interface Urls {
	readonly http1Url?: string
	readonly http2Url: string
}

/** Creates a transport whose connections are closed after the test. */
function useTransport(name: TransportName, urls: Urls, interceptors: Interceptor[]): Transport {
	const isHttp1 = name in HTTP1
	const baseUrl = (isHttp1 ? urls.http1Url : urls.http2Url) ?? ''
	const sessionManager = new Http2SessionManager(baseUrl)
	onTestFinished(() => sessionManager.abort())
	const create = { ...HTTP2, ...HTTP1 }[name]
	return create({ baseUrl, interceptors, sessionManager })
}

/** What a call ended with. */
export interface Outcome {
	readonly items: readonly ItemMessage[]
	readonly headers: Headers | undefined
	readonly trailers: Headers | undefined
	readonly error: ConnectError | undefined
}

export interface InvokeOptions extends CallOptions {
	/** Called with each message before the next one is read. */
	readonly onItem?: (item: ItemMessage) => unknown
}

export class ConnectClient {
	readonly users: Client<typeof Users>

	constructor(transport: Transport) {
		this.users = createClient(Users, transport)
	}

	/** Calls a method of any kind. Kinds with one request use the first of `items`. Never rejects. */
	async invoke(
		method: MethodName,
		items: ItemInit | readonly ItemInit[] | AsyncIterable<ItemInit>,
		{ onItem, ...options }: InvokeOptions = {},
	): Promise<Outcome> {
		let headers: Headers | undefined
		let trailers: Headers | undefined
		let error: ConnectError | undefined
		const received: ItemMessage[] = []
		try {
			const given = this.#start(method, items, {
				onHeader: (header) => {
					headers = header
				},
				onTrailer: (trailer) => {
					trailers = trailer
				},
				...options,
			})
			for await (const item of given) {
				received.push(item)
				await onItem?.(item)
			}
		} catch (thrown) {
			if (!(thrown instanceof ConnectError)) throw thrown
			error = thrown
		}
		return { items: received, headers, trailers, error }
	}

	#start(
		method: MethodName,
		items: ItemInit | readonly ItemInit[] | AsyncIterable<ItemInit>,
		options: CallOptions,
	): AsyncIterable<ItemMessage> {
		const { users } = this
		const stream = isStream(items) ? items : iterate([items].flat() as ItemInit[])
		const first = isStream(items) ? {} : ([items].flat()[0] as ItemInit)
		if (method === 'Get') return one(() => users.get(first, options))
		if (method === 'List') return users.list(first, options)
		if (method === 'Upload') return one(() => users.upload(stream, options))
		return users.chat(stream, options)
	}
}

const isStream = (items: object): items is AsyncIterable<ItemInit> => Symbol.asyncIterator in items

async function* iterate<T>(items: Iterable<T>): AsyncGenerator<T> {
	yield* items
}

async function* one(call: () => Promise<ItemMessage>): AsyncGenerator<ItemMessage> {
	yield await call()
}

/** A client with these interceptors, closed after the test. */
export const useConnectClient = (
	name: TransportName,
	urls: Urls,
	...interceptors: Interceptor[]
): ConnectClient => new ConnectClient(useTransport(name, urls, interceptors))
