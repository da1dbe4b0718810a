/** `yaoki/grpc`: resilient clients and servers for gRPC and Connect. Runs anywhere. */

export {
	type ResilientConnectInterceptor,
	resilientConnectInterceptor,
} from './connect/client-interceptor.ts'
export {
	type ResilientConnectServerInterceptor,
	resilientConnectServerInterceptor,
} from './connect/server-interceptor.ts'
export { type ResilientChannelOptions, resilientChannelOptions } from './grpc-js/channel-options.ts'
export { type ResilientInterceptor, resilientInterceptor } from './grpc-js/client-interceptor.ts'
export type { GrpcEvent } from './interceptor/grpc-interceptor.ts'
export { type ResilientNiceMiddleware, resilientNiceMiddleware } from './nice/client-middleware.ts'
export type { GrpcClientStats } from './policy/grpc-engine.ts'
export type { GrpcClientOptions } from './policy/options.ts'
export type { GrpcServerOptions } from './server/options.ts'
export {
	type ResilientServerInterceptor,
	resilientServerInterceptor,
} from './server/resilient-server-interceptor.ts'
export type { GrpcServerContext } from './server/server-context.ts'
export { getGrpcContext } from './server/server-context.ts'
export type { GrpcServerStats } from './server/server-engine.ts'
export { parseServiceConfig, type ServiceConfigOptions } from './service-config/parse-service-config.ts'
export type { MethodConfig, ServiceConfig } from './service-config/service-config.ts'
export { GrpcStatusError } from './status/status-error.ts'
