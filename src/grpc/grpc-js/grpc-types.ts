/** The parts of @grpc/grpc-js that are used, as structural types: the package never imports it. */

export interface GrpcMetadataOptions {
	readonly waitForReady?: boolean
}

export interface GrpcMetadata {
	get(key: string): readonly unknown[]
	set(key: string, value: string): void
	clone(): GrpcMetadata
	getOptions(): GrpcMetadataOptions
	setOptions(options: GrpcMetadataOptions): void
	/** One value per key. */
	getMap(): Readonly<Record<string, unknown>>
}

export interface GrpcStatus {
	readonly code: number
	readonly details: string
	readonly metadata: GrpcMetadata
	/** grpc-js copies it to the caller's error. */
	readonly cause?: unknown
}

export interface GrpcListener {
	onReceiveMetadata(metadata: GrpcMetadata): void
	onReceiveMessage(message: unknown): void
	onReceiveStatus(status: GrpcStatus): void
}

/** Belongs to a message that is written to a stream. */
export interface GrpcMessageContext {
	/** Called when the next message may be written. */
	readonly callback?: ((error?: Error | null) => void) | undefined
	/** Whether to compress the message; bits of grpc-js. */
	readonly flags?: number | undefined
}

/** A call, as interceptors see it. */
export interface GrpcCall {
	start(metadata: GrpcMetadata, listener?: Partial<GrpcListener>): void
	sendMessageWithContext(context: GrpcMessageContext, message: unknown): void
	sendMessage(message: unknown): void
	startRead(): void
	halfClose(): void
	cancelWithStatus(code: number, details: string): void
	getPeer(): string
	getAuthContext(): unknown
}

export type Serialize = (message: unknown) => Uint8Array

/** grpc-js creates one for every call. */
export interface GrpcMethodDefinition {
	readonly path: string
	readonly requestStream: boolean
	readonly responseStream: boolean
	requestSerialize: Serialize
}

/** The call of a handler, passed as `parent`. */
export interface GrpcParentCall {
	getDeadline(): Date | number
	readonly cancelled?: boolean
	on(event: 'cancelled', listener: () => void): unknown
	removeListener(event: 'cancelled', listener: () => void): unknown
}

export interface GrpcCallOptions {
	readonly method_definition: GrpcMethodDefinition
	readonly deadline?: Date | number | null | undefined
	readonly parent?: unknown
	readonly propagate_flags?: number | undefined
}

export type GrpcNextCall = (options: GrpcCallOptions) => GrpcCall

/** The part of the module that the user passes: `import * as grpc from '@grpc/grpc-js'`. */
export interface GrpcModule {
	readonly Metadata: new (options?: GrpcMetadataOptions) => GrpcMetadata
	readonly InterceptingCall: abstract new (...args: never[]) => object
}
