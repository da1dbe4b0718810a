/**
 * The service of all tests, without code generation: one file descriptor, checked in, from which grpc-js and Connect get their
 * definitions. It was built with `create(FileDescriptorProtoSchema, ...)` and `toBinary` of @bufbuild/protobuf and stands for:
 *
 *     package yaoki.test;
 *     message Item { string text = 1; int32 count = 2; bytes data = 3; }
 *     service Users {
 *       rpc Get(Item) returns (Item);
 *       rpc List(Item) returns (stream Item);
 *       rpc Upload(stream Item) returns (Item);
 *       rpc Chat(stream Item) returns (stream Item);
 *     }
 */
import { create, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import {
	fileDesc,
	type GenMessage,
	type GenService,
	messageDesc,
	serviceDesc,
} from '@bufbuild/protobuf/codegenv2'
import type { ServiceDefinition } from '@grpc/grpc-js'

const FILE =
	'Cgt1c2Vycy5wcm90bxIKeWFva2kudGVzdCJECgRJdGVtEhIKBHRleHQYASABKAlSBHRleHQSFAoFY291bnQYAiABKAVSBWNvdW50EhIKBGRhdGEYAyABKAxSBGRhdGEy' +
	'yAEKBVVzZXJzEi0KA0dldBIQLnlhb2tpLnRlc3QuSXRlbRoQLnlhb2tpLnRlc3QuSXRlbSgAMAASLgoETGlzdBIQLnlhb2tpLnRlc3QuSXRlbRoQLnlhb2tpLnRlc3Qu' +
	'SXRlbSgAMAESMAoGVXBsb2FkEhAueWFva2kudGVzdC5JdGVtGhAueWFva2kudGVzdC5JdGVtKAEwABIuCgRDaGF0EhAueWFva2kudGVzdC5JdGVtGhAueWFva2kudGVz' +
	'dC5JdGVtKAEwAWIGcHJvdG8z'

export const SERVICE = 'yaoki.test.Users'

/** A message, as grpc-js returns it. To send one, any of the fields will do. */
export interface Item {
	readonly text: string
	readonly count: number
	readonly data: Uint8Array
}

export type ItemInit = Partial<Item>

/** A message, as Connect returns it. */
export type ItemMessage = Message<'yaoki.test.Item'> & { text: string; count: number; data: Uint8Array }

export type MethodName = 'Get' | 'List' | 'Upload' | 'Chat'

const file = fileDesc(FILE)

/** For Connect: `create(ItemSchema, { text: 'a' })`. */
export const ItemSchema: GenMessage<ItemMessage> = messageDesc(file, 0)

/** For Connect: `createClient(Users, transport)` and `router.service(Users, handlers)`. */
export const Users: GenService<{
	get: { methodKind: 'unary'; input: typeof ItemSchema; output: typeof ItemSchema }
	list: { methodKind: 'server_streaming'; input: typeof ItemSchema; output: typeof ItemSchema }
	upload: { methodKind: 'client_streaming'; input: typeof ItemSchema; output: typeof ItemSchema }
	chat: { methodKind: 'bidi_streaming'; input: typeof ItemSchema; output: typeof ItemSchema }
}> = serviceDesc(file, 0)

const serialize = (item: ItemInit): Buffer => Buffer.from(toBinary(ItemSchema, create(ItemSchema, item)))

function deserialize(bytes: Buffer): Item {
	const { text, count, data } = fromBinary(ItemSchema, bytes)
	// A view of Buffer would not equal the bytes that a test has sent.
	return { text, count, data: new Uint8Array(data) }
}

const method = (name: MethodName, requestStream: boolean, responseStream: boolean) => ({
	path: `/${SERVICE}/${name}`,
	requestStream,
	responseStream,
	requestSerialize: serialize,
	requestDeserialize: deserialize,
	responseSerialize: serialize,
	responseDeserialize: deserialize,
})

/** The methods for grpc-js: path, whether they stream, and how messages are encoded. */
export const usersMethods = {
	Get: method('Get', false, false),
	List: method('List', false, true),
	Upload: method('Upload', true, false),
	Chat: method('Chat', true, true),
}

/** For grpc-js: `server.addService(usersDefinition, handlers)`. */
export const usersDefinition: ServiceDefinition = { ...usersMethods }
