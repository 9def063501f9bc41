#include "vitruvian/datasets/fetch/fetch.hpp"

#include "vitruvian/core/base/error.hpp"

namespace vitruvian {

const std::vector<PublicDataset>& public_datasets() {
  static const std::vector<PublicDataset> all = {
      {"mnist",
       "handwritten digits, 60,000 and 10,000 of 28 x 28 grey, 10 classes (LeCun, Cortes, Burges)",
       "mnist",
       {"https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/"},
       {{"train-images-idx3-ubyte.gz", 9912422,
         "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
         "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
        {"train-labels-idx1-ubyte.gz", 28881,
         "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
         "d53e105ee54ea40749a09fcbcd1e9432"},
        {"t10k-images-idx3-ubyte.gz", 1648877,
         "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
         "9fb629c4189551a2d022fa330f9573f3"},
        {"t10k-labels-idx1-ubyte.gz", 4542,
         "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
         "ec29112dd5afa0611ce80d1b7f02629c"}}},
      {"fashion-mnist",
       "clothes, 60,000 and 10,000 of 28 x 28 grey, 10 classes (Xiao, Rasul, Vollgraf 2017)",
       "fashion-mnist",
       {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"},
       {{"train-images-idx3-ubyte.gz", 26421880,
         "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
         "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
        {"train-labels-idx1-ubyte.gz", 29515,
         "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
         "25c81989df183df01b3e8a0aad5dffbe"},
        {"t10k-images-idx3-ubyte.gz", 4422102,
         "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
         "bef4ecab320f06d8554ea6380940ec79"},
        {"t10k-labels-idx1-ubyte.gz", 5148,
         "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
         "bb300cfdad3c16e7a12a480ee83cd310"}}},
      {"kmnist",
       "cursive Japanese, 60,000 and 10,000 of 28 x 28 grey, 10 classes (Clanuwat et al. 2018)",
       "kmnist",
       {"http://codh.rois.ac.jp/kmnist/dataset/kmnist/"},
       {{"train-images-idx3-ubyte.gz", 0, "", "bdb82020997e1d708af4cf47b453dcf7"},
        {"train-labels-idx1-ubyte.gz", 0, "", "e144d726b3acfaa3e44228e80efcd344"},
        {"t10k-images-idx3-ubyte.gz", 0, "", "5c965bf0a639b31b8f53240b1b52f4d7"},
        {"t10k-labels-idx1-ubyte.gz", 0, "", "7320c461ea6c1c855c0b718fb2a4b134"}}},
      {"cifar10",
       "things and animals, 50,000 and 10,000 of 32 x 32 RGB, 10 classes (Krizhevsky 2009)",
       "cifar-10-batches-bin",
       {"https://www.cs.toronto.edu/~kriz/"},
       {{"cifar-10-binary.tar.gz", 170052171,
         "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
         "c32a1d4ab5d03f1284b67883e8d87530"}},
       {{"data_batch_1.bin", 30730000,
         "437cc01189c1e65617a197e439e1d7bee468756e651ee1789ad542bab1604d57", ""},
        {"data_batch_2.bin", 30730000,
         "d8154bd97fede6e61f2c0693ec13e8f580b4b5a83f739bb9a0c5398abe2594e3", ""},
        {"data_batch_3.bin", 30730000,
         "2cf16348240daaf40f5c439f575f9029a024fa5bdec0d6084c89306839139159", ""},
        {"data_batch_4.bin", 30730000,
         "c708d44934f3bf1e51ce995478ce25f09bfa6f8a0cfdfdf39ce08bfcd91edb8d", ""},
        {"data_batch_5.bin", 30730000,
         "40d08aa6c1f50c2fb88cc20c15e31b8c2b8241649a698bfc3c7e4f4a73081b57", ""},
        {"test_batch.bin", 30730000,
         "8e268e846ad2bc2d1d77ca85871414f395320388483d6e349970f8b9deb16bd4", ""}}},
      {"cifar100",
       "things and animals, 50,000 and 10,000 of 32 x 32 RGB, 100 classes in 20 (Krizhevsky 2009)",
       "cifar-100-binary",
       {"https://www.cs.toronto.edu/~kriz/"},
       {{"cifar-100-binary.tar.gz", 168513733,
         "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
         "03b5dce01913d631647c71ecec9e9cb8"}},
       {{"train.bin", 153700000}, {"test.bin", 30740000}}},
  };
  return all;
}

const PublicDataset& public_dataset(const std::string& name) {
  const std::string wanted = name == "cifar100-coarse" ? "cifar100" : name;
  for (const PublicDataset& known : public_datasets()) {
    if (known.name == wanted) return known;
  }
  if (name == "digits") fail(Exit::usage, "digits are drawn by the program: there are no files");
  if (name == "folder") {
    fail(Exit::usage, "folder is a directory of yours: there is nothing to fetch");
  }
  fail(Exit::usage, "there is no data set '{}' to fetch; {}", name,
       did_you_mean(name, names_in(public_datasets())));
}

}  // namespace vitruvian
