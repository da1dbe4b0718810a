import { create, fromBinary, toBinary, toJsonString } from '@bufbuild/protobuf'
import {
	AnySchema,
	FieldDescriptorProto_Type,
	FileDescriptorProtoSchema,
	StructSchema,
	TimestampSchema,
} from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyMessage, estimateBytes } from '../../../src/grpc/connect/message-copy.ts'
import { ItemSchema } from '../support/users.ts'

const descriptor = () =>
	create(FileDescriptorProtoSchema, {
		name: 'a.proto',
		dependency: ['b.proto'],
		messageType: [{ name: 'M', field: [{ name: 'f', number: 1, type: FieldDescriptorProto_Type.INT32 }] }],
		options: { javaPackage: '', deprecated: false },
	})

describe('the copy of a message', () => {
	test('is encoded like the message with nested messages, lists and fields that are set to their default', () => {
		const message = descriptor()
		const copy = copyMessage(message)
		expect(toBinary(FileDescriptorProtoSchema, copy)).toEqual(toBinary(FileDescriptorProtoSchema, message))
		// Fields that are not set have their default from the prototype.
		expect(copy.syntax).toBe(message.syntax)
		expect(Object.hasOwn(copy, 'syntax')).toBe(false)
	})

	test('is encoded like the message with maps, also with the key __proto__', () => {
		const fields = JSON.parse('{"__proto__":{"kind":{"case":"stringValue","value":"a"}}}')
		const message = create(StructSchema, { fields: { a: { kind: { case: 'numberValue', value: 1 } } } })
		Object.assign(message, { fields: { ...message.fields, ...fields } })
		const copy = copyMessage(message)
		expect(Object.keys(copy.fields)).toEqual(Object.keys(message.fields))
		expect(Object.getPrototypeOf(copy.fields)).toBe(Object.prototype)
		expect(toJsonString(StructSchema, copy)).toBe(toJsonString(StructSchema, message))
	})

	test('is encoded like the message with bigints, bytes of a Buffer and unknown fields', () => {
		const time = create(TimestampSchema, { seconds: 9_007_199_254_740_993n, nanos: 5 })
		expect(toBinary(TimestampSchema, copyMessage(time))).toEqual(toBinary(TimestampSchema, time))
		const any = create(AnySchema, { typeUrl: 't', value: Buffer.from('abc') })
		const copy = copyMessage(any)
		any.value[0] = 0
		expect(copy.value).toEqual(new Uint8Array([97, 98, 99]))
		const item = create(ItemSchema, { data: new Uint8Array([1, 2]) })
		const unknown = fromBinary(TimestampSchema, toBinary(ItemSchema, item))
		expect(unknown.$unknown).toHaveLength(1)
		expect(toBinary(TimestampSchema, copyMessage(unknown))).toEqual(toBinary(TimestampSchema, unknown))
	})

	test('is equal to the message with anything that JSON can contain', () => {
		fc.assert(
			fc.property(fc.jsonValue(), (value) => {
				expect(copyMessage(value)).toEqual(value)
			}),
		)
	})
})

test('a copy shares nothing with the message', () => {
	const message = descriptor()
	const before = toBinary(FileDescriptorProtoSchema, message)
	const copy = copyMessage(message)
	message.dependency.push('c.proto')
	const [type] = message.messageType
	if (type) type.name = 'N'
	if (message.options) message.options.javaPackage = 'x'
	expect(toBinary(FileDescriptorProtoSchema, copy)).toEqual(before)
})

test('the estimated size is close to the encoded one', () => {
	fc.assert(
		fc.property(
			fc.string({ maxLength: 2_000, unit: 'grapheme-ascii' }),
			fc.uint8Array({ maxLength: 2_000 }),
			fc.integer(),
			(text, data, count) => {
				const message = create(ItemSchema, { text, data, count })
				const encoded = toBinary(ItemSchema, message).length
				const estimated = estimateBytes(message)
				expect(estimated).toBeGreaterThanOrEqual(encoded - 10)
				expect(estimated).toBeLessThanOrEqual(encoded + 60)
			},
		),
	)
})
