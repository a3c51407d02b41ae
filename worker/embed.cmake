# cmake -DOUTPUT=x.c -DFILES=schemas/sql/*.sql -DNAME=sql_files -DTYPE=sql_file -P embed.cmake: the files as
# one C file, a table NAME of struct TYPE {name, text}, declared in NAME.h.
file(GLOB files ${FILES})
list(SORT files)
set(texts "")
set(table "")
list(LENGTH files count)
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} id)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND texts "static const unsigned char text${id}[] = {${bytes}0};\n")
  string(APPEND table "\t{\"${name}\", (const char *)text${id}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"${NAME}.h\"\n\n${texts}
const struct ${TYPE} ${NAME}[] = {\n${table}};
const size_t ${NAME}_n = ${count};\n")
