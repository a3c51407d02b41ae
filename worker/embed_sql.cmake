# cmake -DOUTPUT=x.c -DFOLDER=schemas/sql -P embed_sql.cmake: the SQL files as one C file.
file(GLOB files ${FOLDER}/*.sql)
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
file(WRITE ${OUTPUT} "#include \"sql_files.h\"\n\n${texts}
const struct sql_file sql_files[] = {\n${table}};
const size_t sql_files_n = ${count};\n")
