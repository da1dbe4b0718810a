/** A unary method whose messages are cheap to encode, so that the call itself dominates. */
import type { MethodDefinition } from '@grpc/grpc-js'

const encode = (text: string): Buffer => Buffer.from(text)
const decode = (bytes: Buffer): string => bytes.toString()

export const GET: MethodDefinition<string, string> = {
	path: '/yaoki.bench.Users/Get',
	requestStream: false,
	responseStream: false,
	requestSerialize: encode,
	requestDeserialize: decode,
	responseSerialize: encode,
	responseDeserialize: decode,
}
