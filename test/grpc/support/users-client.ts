/** A client of the test service with promises. Written against grpc-js's `Client`, as generated clients are. */
import {
	type CallOptions,
	Client,
	type ClientDuplexStream,
	type ClientOptions,
	type ClientReadableStream,
	type ClientUnaryCall,
	type ClientWritableStream,
	credentials,
	Metadata,
	type ServiceError,
	type StatusObject,
} from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { type Item, type ItemInit, type MethodName, usersMethods } from './users.ts'

export interface InvokeOptions extends CallOptions {
	readonly metadata?: Metadata | Readonly<Record<string, string>>
	/** True: streaming calls are not half-closed after the given messages. Default false. */
	readonly leaveOpen?: boolean
}

type AnyClientCall =
	| ClientUnaryCall
	| ClientReadableStream<Item>
	| ClientWritableStream<ItemInit>
	| ClientDuplexStream<ItemInit, Item>

/** What a call ended with. */
interface Outcome {
	readonly items: readonly Item[]
	/** Undefined after a trailers-only response. */
	readonly headers: Metadata | undefined
	readonly status: StatusObject
	/** What the application received, as callback error or as event `error`. */
	readonly error: ServiceError | undefined
}

export interface Invocation {
	readonly call: AnyClientCall
	/** The messages received so far. */
	readonly items: readonly Item[]
	/** The request stream, of the kinds that have one. */
	readonly requests: ClientWritableStream<ItemInit> | undefined
	/** Never rejects. */
	readonly done: Promise<Outcome>
	/** Resolves with the first `n` messages of the response. */
	received(n: number): Promise<readonly Item[]>
	cancel(): void
}

const toMetadata = (given: InvokeOptions['metadata']): Metadata => {
	if (given instanceof Metadata) return given
	const metadata = new Metadata()
	for (const [name, value] of Object.entries(given ?? {})) metadata.set(name, value)
	return metadata
}

const isReadable = (call: AnyClientCall): call is ClientReadableStream<Item> => 'read' in call
const isWritable = (call: AnyClientCall): call is ClientWritableStream<ItemInit> => 'write' in call

export class UsersClient extends Client {
	/** Starts a call of any kind. Kinds with one request use the first of `items`. */
	invoke(
		method: MethodName,
		items: ItemInit | readonly ItemInit[],
		{ metadata, leaveOpen = false, ...options }: InvokeOptions = {},
	): Invocation {
		const list = isList(items) ? items : [items]
		const received: Item[] = []
		const waiting = new Set<() => void>()
		const receive = (item: Item) => {
			received.push(item)
			for (const check of waiting) check()
		}
		let headers: Metadata | undefined
		let status: StatusObject | undefined
		let ended: { error: ServiceError | undefined } | undefined
		let finish: (outcome: Outcome) => void = () => {}
		const done = new Promise<Outcome>((resolve) => {
			finish = resolve
		})
		// The status and the end of the application's call arrive in an order that depends on the kind.
		const settle = () => {
			if (status && ended) finish({ items: received, headers, status, error: ended.error })
		}
		const end = (error: ServiceError | null | undefined) => {
			ended ??= { error: error ?? undefined }
			settle()
		}
		const call = this.#start(method, list[0] ?? {}, toMetadata(metadata), options, (error, item) => {
			if (item) receive(item)
			end(error)
		})
		call.on('metadata', (given: Metadata) => {
			headers = given
		})
		call.on('status', (given: StatusObject) => {
			status = given
			settle()
		})
		if (isReadable(call)) call.on('data', receive).on('end', () => end(undefined))
		if (isReadable(call)) call.on('error', (error) => end(error as ServiceError))
		const requests = isWritable(call) ? call : undefined
		for (const item of requests ? list : []) requests?.write(item)
		if (!leaveOpen) requests?.end()
		return {
			call,
			items: received,
			requests,
			done,
			received: (n) =>
				new Promise((resolve) => {
					const check = () => {
						if (received.length < n) return
						waiting.delete(check)
						resolve(received.slice(0, n))
					}
					waiting.add(check)
					check()
				}),
			cancel: () => call.cancel(),
		}
	}

	/** The response of `Get`. Rejects with the error of the call. */
	get(item: ItemInit, options?: InvokeOptions): Promise<Item> {
		return this.#one('Get', item, options)
	}

	/** All messages of `List`. */
	async list(item: ItemInit, options?: InvokeOptions): Promise<readonly Item[]> {
		return itemsOf(await this.invoke('List', item, options).done)
	}

	/** The response of `Upload` to these messages. */
	upload(items: readonly ItemInit[], options?: InvokeOptions): Promise<Item> {
		return this.#one('Upload', items, options)
	}

	/** All messages of `Chat` to these messages. */
	async chat(items: readonly ItemInit[], options?: InvokeOptions): Promise<readonly Item[]> {
		return itemsOf(await this.invoke('Chat', items, options).done)
	}

	async #one(
		method: MethodName,
		items: ItemInit | readonly ItemInit[],
		options: InvokeOptions | undefined,
	): Promise<Item> {
		const [item] = itemsOf(await this.invoke(method, items, options).done)
		if (!item) throw new Error(`${method} succeeded without a message`)
		return item
	}

	#start(
		name: MethodName,
		item: ItemInit,
		metadata: Metadata,
		options: CallOptions,
		callback: (error: ServiceError | null, item?: Item) => void,
	): AnyClientCall {
		const { path, requestSerialize, responseDeserialize } = usersMethods[name]
		if (name === 'Get')
			return this.makeUnaryRequest(
				path,
				requestSerialize,
				responseDeserialize,
				item,
				metadata,
				options,
				callback,
			)
		if (name === 'List')
			return this.makeServerStreamRequest(
				path,
				requestSerialize,
				responseDeserialize,
				item,
				metadata,
				options,
			)
		if (name === 'Upload')
			return this.makeClientStreamRequest(
				path,
				requestSerialize,
				responseDeserialize,
				metadata,
				options,
				callback,
			)
		return this.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, options)
	}
}

const isList = (items: ItemInit | readonly ItemInit[]): items is readonly ItemInit[] => Array.isArray(items)

function itemsOf({ items, error }: Outcome): readonly Item[] {
	if (error) throw error
	return items
}

/** A client of this address, closed after the current test. */
export function useUsersClient(address: string, options: Partial<ClientOptions> = {}): UsersClient {
	// Channels with equal options share connections otherwise, also with those of other tests.
	const client = new UsersClient(address, credentials.createInsecure(), {
		'grpc.use_local_subchannel_pool': 1,
		...options,
	})
	onTestFinished(() => client.close())
	return client
}
