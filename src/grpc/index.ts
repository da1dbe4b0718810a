/** `yaoki/grpc`: resilient clients and servers for gRPC and Connect. Runs anywhere. */

export type { HttpServiceConfig } from '../http/options/http-service-config.ts'
export {
	type ResilientConnectInterceptor,
	resilientConnectInterceptor,
} from './connect/client-interceptor.ts'
export type { ConnectInterceptor, ConnectModule } from './connect/connect-types.ts'
export {
	type ResilientConnectServerInterceptor,
	resilientConnectServerInterceptor,
} from './connect/server-interceptor.ts'
export { type ResilientChannelOptions, resilientChannelOptions } from './grpc-js/channel-options.ts'
export { type ResilientInterceptor, resilientInterceptor } from './grpc-js/client-interceptor.ts'
export type { GrpcCallOptions, GrpcMetadata, GrpcMethodDefinition, GrpcModule } from './grpc-js/grpc-types.ts'
export { httpServiceConfig } from './http/http-service-config.ts'
export type { GrpcInterceptor } from './interceptor/grpc-interceptor.ts'
export { type ResilientNiceMiddleware, resilientNiceMiddleware } from './nice/client-middleware.ts'
export type {
	NiceCall,
	NiceCallOptions,
	NiceMetadata,
	NiceMiddleware,
	NiceModule,
} from './nice/nice-types.ts'
export type { GrpcClientStats } from './policy/grpc-engine.ts'
export type { BreakerTarget, GrpcClientOptions } from './policy/options.ts'
export { getGrpcContext } from './server/context-lookup.ts'
export type { GrpcServerModule } from './server/grpc-js-types.ts'
export type { GrpcServerOptions, RejectedCall } from './server/options.ts'
export {
	type ResilientServerInterceptor,
	resilientServerInterceptor,
} from './server/resilient-server-interceptor.ts'
export type { GrpcServerContext } from './server/server-context.ts'
export type { GrpcServerStats } from './server/server-engine.ts'
export { parseServiceConfig, type ServiceConfigOptions } from './service-config/parse-service-config.ts'
export {
	type GrpcHedgingPolicy,
	type GrpcRetryPolicy,
	type MethodConfig,
	type MethodConfigEntry,
	type MethodName,
	type RetryThrottling,
	ServiceConfig,
} from './service-config/service-config.ts'
export type { StatusCode, StatusName } from './status/status.ts'
export { type FailedStatus, GrpcStatusError } from './status/status-error.ts'
