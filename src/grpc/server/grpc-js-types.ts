/** The parts of @grpc/grpc-js that its server interceptor uses. The package never imports it. */
import type { GrpcMetadata, GrpcMethodDefinition } from '../grpc-js/grpc-types.ts'

/** Receives the events of a call: grpc-js calls it for the handler, or the next interceptor does. */
export interface ServerListener {
	onReceiveMetadata(metadata: GrpcMetadata): void
	onReceiveMessage(message: unknown): void
	onReceiveHalfClose(): void
	onCancel(): void
}

/** The status that ends a call. */
export interface ServerStatus {
	readonly code?: number | undefined
	readonly details?: string | undefined
	readonly metadata?: GrpcMetadata | null | undefined
}

/** A call on its way to the client: the call of grpc-js itself, or the next interceptor's. */
export interface NextServerCall {
	start(listener: ServerListener): void
	sendMetadata(metadata: GrpcMetadata): void
	sendMessage(message: unknown, callback: () => void): void
	sendStatus(status: ServerStatus): void
	startRead(): void
	getDeadline(): Date | number
}

/** The part of a method's definition that is used. */
export type ServerMethod = Pick<GrpcMethodDefinition, 'path' | 'responseStream'>

/** The part of the module that the user passes: `import * as grpc from '@grpc/grpc-js'`. */
export interface GrpcServerModule {
	readonly ServerInterceptingCall: abstract new (...args: never[]) => object
	readonly Metadata: new () => GrpcMetadata
}
